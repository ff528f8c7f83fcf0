/** The type of an event in a batch. */
export type EventType = 'trace' | 'span' | 'observation' | 'feedback'

/** The subject of an event. */
export interface EventName {
  type: EventType
  traceId: string
  /** The id of the span, observation, or feedback. */
  id?: string
}

/** Something that was recorded but didn't arrive. */
export interface Loss extends EventName {
  /**
   * - `not_serializable`: a value that JSON can't represent (a cycle, a BigInt), an invalid time, nesting over 128
   *   levels
   * - `too_large`: a value over 5 MiB as JSON, metadata over 64 KiB, a correction over 128 KiB
   * - `queue_full`: the waiting events exceeded `maxQueueBytes`
   * - `refused`: the service rejected it; `status` and `message` say why
   * - `incomplete`: the service accepted the trace without metadata that doesn't fit or isn't searchable; see `message`
   * - `undelivered`: no attempt succeeded; `status` is the last response's, or 0 if there was none
   */
  reason: 'not_serializable' | 'too_large' | 'queue_full' | 'refused' | 'incomplete' | 'undelivered'
  /** The field that was lost, in whole or in part. The rest arrived. If absent, the whole event was lost. */
  field?: string
  status?: number
  message: string
}
