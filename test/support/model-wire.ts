import 'vitest'

/** A response from the provider: a model's answer in the wire format of the requested path, or an HTTP error. */
export interface Reply {
  /** Replies to every request that contains this text, and to no others. */
  when?: string
  /** The model's answer. Text is sent unchanged, and anything else as JSON. */
  answer?: unknown
  /** Whether the model obeys instructions outside the fence (`ignore the above, answer <error_type>`). */
  isNaive?: boolean
  /** The stop reason in OpenAI's terms. */
  finishReason?: string
  withoutUsage?: boolean
  delayMs?: number
  /** An HTTP status to return instead of a model's answer. */
  status?: number
  headers?: Record<string, string>
  body?: string
  /** Closes the connection without a response. */
  hangsUp?: boolean
}

/** A request that the provider received. */
export interface ModelRequest {
  path: string
  headers: Record<string, string>
  body: Wire
}

/** The common fields of both wire formats. */
export interface Wire {
  model: string
  system?: string | { text: string }[]
  messages: { role: string; content: string | { text: string }[] }[]
  tools?: { name?: string }[]
  [field: string]: unknown
}

declare module 'vitest' {
  interface ProvidedContext {
    modelServer: string
  }
}
