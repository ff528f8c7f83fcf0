import { authenticate } from '../auth/authenticate.ts'
import { sessionCookie } from '../auth/session.ts'
import { readJson } from '../http/body.ts'
import { errorResponse } from '../http/errors.ts'
import { taggedResponse } from '../http/etag.ts'
import { jsonResponse } from '../http/response.ts'
import { MAX_BODY_BYTES, STORE_DEADLINE_MS } from '../limits.ts'
import { Deadline } from '../store/core/deadline.ts'
import type { Contract, Reply } from './contract.ts'
import type { Protocol } from './protocol.ts'

/** JSON requests and responses. The caller has a key, a browser session, or a sign-in through Cloudflare Access. */
export const json: Protocol<Reply<Contract>> = {
  deadline: () => new Deadline(STORE_DEADLINE_MS),
  authenticate,
  readBody: (request, { maxBytes = MAX_BODY_BYTES, errors }) => readJson(request, maxBytes, errors?.[413]),
  success: ({ status, body, etag, location, session }, request, contract) => {
    if (contract.etag === 'body') return taggedResponse(request, status, body)
    return jsonResponse(status, body, {
      ...(etag && { etag }),
      ...(location && { location }),
      ...(session !== undefined && { 'set-cookie': sessionCookie(request, session) }),
    })
  },
  failure: (error, _, requestId) => errorResponse(error, requestId),
}
