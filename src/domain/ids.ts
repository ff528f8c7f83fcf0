import { hash } from 'node:crypto'

const encoder = new TextEncoder()

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a string is a UUID of any version, in upper or lower case. */
export const isUuid = (text: string): boolean => UUID.test(text)

/** Whether a UUID is version 5, like the ids that the service derives from names and that clients can compute. */
export const isNameBased = (uuid: string): boolean => uuid[14] === '5'

/** A new random id. */
export const newId = (): string => crypto.randomUUID()

const KEY_EPOCH_MS = Date.UTC(2026, 0)
const KEYS_PER_MILLISECOND = 2 ** 12

/**
 * The share of each millisecond's keys that one database may use: every `lanes`th key from `index` on. `lanes` is a
 * power of two.
 */
export interface KeyLane {
  index: number
  lanes: number
}

/**
 * The lane of one of several databases, so that no two databases ever use the same key. A database that's added later
 * gets its first traces only once every server knows about it.
 */
export const keyLane = (database: number, databases: number): KeyLane => ({
  index: database,
  lanes: 2 ** Math.ceil(Math.log2(databases)),
})

/**
 * New internal keys. Unlike SQLite's row ids, they're never reused, and unlike AUTOINCREMENT, they need no counter row.
 * A key consists of the milliseconds since 2026 and 12 bits that start at random. It fits in 53 bits until 2095. Once a
 * millisecond's 4,096 keys, or those in the database's lane, are used up, keys come from the following milliseconds.
 * Two requests in the same millisecond may get the same key, which an insert must handle.
 */
export function newKeys(now: number, count: number, { index, lanes }: KeyLane = { index: 0, lanes: 1 }): number[] {
  const [random = 0] = crypto.getRandomValues(new Uint16Array(1))
  const first = firstKeyAt(now)
  const perMillisecond = KEYS_PER_MILLISECOND / lanes
  return Array.from({ length: count }, (_, nth) => {
    const place = nth % perMillisecond
    return first + (nth - place + ((random + place) % perMillisecond)) * lanes + index
  })
}

/** The lowest key that `newKeys` can return at a given time. */
export const firstKeyAt = (time: number): number => (Math.floor(time) - KEY_EPOCH_MS) * KEYS_PER_MILLISECOND

/** A token unique to one write. A guarded write compares it to detect a write in between. */
export const newRevision = (): string => crypto.randomUUID().slice(24)

/** The read interface's id for a trace, derived from the client's `traceId`. */
export const traceUuid = (projectId: string, traceId: string) => uuidV5(projectId, `trace:${traceId}`)

/** The id of a trace's root span. */
export const rootSpanUuid = (projectId: string, traceId: string) => uuidV5(projectId, `root:${traceId}`)

/** The read interface's id for a span from telemetry, derived from the span's own ids in hex. */
export const exportedSpanUuid = (projectId: string, traceHex: string, spanHex: string) =>
  uuidV5(projectId, `span:${traceHex}:${spanHex}`)

/** The id of an observation from telemetry. `key` distinguishes observations of one type on one span. */
export const exportedObservationUuid = (
  projectId: string,
  traceId: string,
  { spanHex, type, key }: { spanHex: string; type: string; key: string },
) => uuidV5(projectId, `obs:${traceId}:${spanHex}:${type}:${key}`)

/** The read interface's id for feedback, derived from the client's `feedbackId`. */
export const feedbackUuid = (projectId: string, feedbackId: string) => uuidV5(projectId, `feedback:${feedbackId}`)

/** The id of a project's own error type. */
export const errorTypeUuid = (projectId: string, errorType: string) => uuidV5(projectId, `error-type:${errorType}`)

/** The id of a step's dataset. */
export const datasetUuid = (projectId: string, stepId: string) => uuidV5(projectId, `dataset:${stepId}`)

/** The id of a step's gate in the audit log. */
export const gateUuid = (projectId: string, stepId: string) => uuidV5(projectId, `gate:${stepId}`)

/** The id of a step's guideline in the audit log. */
export const guidelineUuid = (projectId: string, stepId: string) => uuidV5(projectId, `guideline:${stepId}`)

/** The id of a problem, from its step at fault, error type, and knowledge doc. '' means none. */
export const problemUuid = (
  projectId: string,
  { stepId, errorType, docSlug }: { stepId: string; errorType: string; docSlug: string },
) => uuidV5(projectId, `problem:${stepId}:${errorType}:${docSlug}`)

/** A name-based UUID, version 5 (RFC 9562, section 5.5): the same namespace and name always give the same id. */
export async function uuidV5(namespace: string, name: string): Promise<string> {
  const suffix = encoder.encode(name)
  const input = new Uint8Array(UUID_BYTES + suffix.byteLength)
  const digits = namespace.replaceAll('-', '')
  for (let byte = 0; byte < UUID_BYTES; byte++) input[byte] = Number.parseInt(digits.slice(2 * byte, 2 * byte + 2), 16)
  input.set(suffix, UUID_BYTES)
  const text = hash('sha1', input, 'hex')
  const variant = ((Number.parseInt(text.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-5${text.slice(13, 16)}-${variant}${text.slice(17, 20)}-${text.slice(20, 32)}`
}

const UUID_BYTES = 16
