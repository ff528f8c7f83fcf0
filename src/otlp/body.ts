import { readBytes } from '../http/body.ts'
import { MAX_EXPORT_BYTES } from '../limits.ts'

const TOO_LARGE = `An export may have at most ${MAX_EXPORT_BYTES} bytes after decompression; send fewer records at once`

/** Reads and decompresses the body of an export. Errors: the same as for `readBytes`. */
export const readExport = (request: Request): Promise<Uint8Array> => readBytes(request, MAX_EXPORT_BYTES, TOO_LARGE)
