/** What the pipeline records, as a batch names it. */
export type EventType = 'trace' | 'span' | 'observation' | 'feedback'

/** What an event is about. */
export interface EventName {
  type: EventType
  traceId: string
  /** The span's, observation's or feedback's own id. */
  id?: string
}

/** Something that was recorded and did not arrive. */
export interface Loss extends EventName {
  /**
   * - `not_serializable`: a value that JSON cannot hold (a cycle, a BigInt), a time that is none, nesting over 128
   * - `too_large`: a value over 5 MiB as JSON, metadata over 64 KiB, a correction over 128 KiB
   * - `queue_full`: more was waiting to be sent than `maxQueueBytes`
   * - `refused`: the service answered that it is wrong; `status` and `message` say why
   * - `incomplete`: the service took the trace, but left out metadata that has no room or can't be searched; `message` names it
   * - `undelivered`: no attempt got through; `status` is the last answer's, 0 where there was none
   */
  reason: 'not_serializable' | 'too_large' | 'queue_full' | 'refused' | 'incomplete' | 'undelivered'
  /** The field that was lost, or a part of it, and the rest of the event was not; without one, the whole event was. */
  field?: string
  status?: number
  message: string
}
