import { readBytes } from '../http/body.ts'
import { MAX_EXPORT_BYTES } from '../limits.ts'

const TOO_LARGE = `An export may have ${MAX_EXPORT_BYTES} bytes, decompressed; send fewer records at once`

/** Reads an export's body, decompressed, with the errors of `readBytes`. */
export const readExport = (request: Request): Promise<Uint8Array> => readBytes(request, MAX_EXPORT_BYTES, TOO_LARGE)
