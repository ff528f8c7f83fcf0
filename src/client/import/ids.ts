import { uuidOf } from '../ids.ts'
import { MAX_FEEDBACK_ID_LENGTH } from '../limits.ts'

/*
 * Ids that depend only on the source's ids, so that importing something again finds what's already there. They're the
 * ids that the service derives for telemetry, so a trace that was also sent as telemetry isn't imported a second time.
 */

const encoder = new TextEncoder()

async function digest(algorithm: 'SHA-1' | 'SHA-256', bytes: Uint8Array): Promise<string> {
  const hashed = new Uint8Array(await crypto.subtle.digest(algorithm, bytes))
  return Array.from(hashed, byte => byte.toString(16).padStart(2, '0')).join('')
}

export const hashOf = (text: string): Promise<string> => digest('SHA-256', encoder.encode(text))

/** A version 5 UUID for a name in a namespace. */
export async function uuidV5(namespace: string, name: string): Promise<string> {
  const digits = namespace.replaceAll('-', '')
  const space = Uint8Array.from({ length: 16 }, (_, byte) => Number.parseInt(digits.slice(2 * byte, 2 * byte + 2), 16))
  const suffix = encoder.encode(name)
  const bytes = new Uint8Array(space.length + suffix.length)
  bytes.set(space)
  bytes.set(suffix, space.length)
  return uuidOf(await digest('SHA-1', bytes), 5)
}

/** `trace_` and the source's id. An id that a `trace_id` can't contain is replaced by a hash. */
export async function traceIdOf(id: string): Promise<string> {
  return /^[A-Za-z0-9_-]{1,122}$/.test(id) ? `trace_${id}` : `trace_${(await hashOf(id)).slice(0, 32)}`
}

/** The id in telemetry's form: `length` hex digits. Other ids are replaced by a hash. */
export async function hexIdOf(id: string, length: 16 | 32): Promise<string> {
  const isHex = id.length === length && /^[0-9a-f]+$/.test(id) && !/^0+$/.test(id)
  return isHex ? id : (await hashOf(id)).slice(0, length)
}

/** The id of a span in the service. */
export const spanUuid = async (projectId: string, traceId: string, spanId: string): Promise<string> =>
  uuidV5(projectId, `span:${await hexIdOf(traceId, 32)}:${await hexIdOf(spanId, 16)}`)

/** The feedback's id in the source. An id that's too long is replaced by a hash. */
export const feedbackIdOf = async (id: string): Promise<string> =>
  [...id].length <= MAX_FEEDBACK_ID_LENGTH ? id : (await hashOf(id)).slice(0, 32)
