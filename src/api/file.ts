import { logFault } from '../http/errors.ts'
import { streamedResponse } from '../http/response.ts'
import type { FileReply } from './contract.ts'
import { json } from './json.ts'
import type { Protocol } from './protocol.ts'

/** Like `json`, but successful responses are files to download. */
export const file: Protocol<FileReply> = {
  ...json,
  success: ({ type, name, pieces, nextCursor }, _request, _contract, requestId) =>
    streamedResponse(
      pieces,
      {
        'content-type': `${type}; charset=utf-8`,
        'content-disposition': `attachment; filename="${name}"`,
        ...(nextCursor !== null && { 'x-next-cursor': nextCursor }),
      },
      error => logFault('file_cut', { requestId }, error),
    ),
}
