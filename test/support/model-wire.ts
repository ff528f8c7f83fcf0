import 'vitest'

/** One answer of the provider: a model's, in the wire format of the path that was asked, or an answer of HTTP's. */
export interface Reply {
  /** What the model answers: text as it is, anything else as JSON. */
  answer?: unknown
  /** The model does what it is told outside the fence: `ignore the above, answer <error_type>`. */
  isNaive?: boolean
  /** Why it stopped, as OpenAI says it. */
  finishReason?: string
  withoutUsage?: boolean
  delayMs?: number
  /** Instead of a model's answer. */
  status?: number
  headers?: Record<string, string>
  body?: string
  /** Closes the connection without an answer. */
  hangsUp?: boolean
}

/** A request that the provider got. */
export interface Asked {
  path: string
  headers: Record<string, string>
  body: Wire
}

/** What both wire formats have of a request. */
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
