/** The caller. An intruder is a stranger who knows the owner's ids. An impostor has an invalid key. */
export type Caller = 'owner' | 'ingest' | 'stranger' | 'intruder' | 'admin' | 'impostor' | 'nobody'

/** A request as it's sent, except that GET and HEAD are sent without their body. */
export interface Sent {
  caller: Caller
  method: string
  path: string
  query: string
  headers: Record<string, string>
  body: Uint8Array
}

export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : content
