/** Who calls. An intruder is a stranger who knows what the owner was told; an impostor has a key that is none. */
export type Caller = 'owner' | 'ingest' | 'stranger' | 'intruder' | 'admin' | 'impostor' | 'nobody'

/** A request as it is sent, but that GET and HEAD go without their body. */
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
