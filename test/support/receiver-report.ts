/** What the receiver in `test/scripts/webhook-receiver.ts` got from a test. */
export interface ReceiverReport {
  /** The paths of the requests, in order. */
  paths: string[]
  /** Whether the connection for an endless response was closed. */
  isClosed: boolean
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** The receiver's URL. */
    webhookReceiver: string
  }
}
