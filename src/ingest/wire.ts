import * as v from 'valibot'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { jsonPayload, objectOfBytes, text } from '../http/atoms.ts'
import { MAX_METADATA_BYTES, MAX_NAME_LENGTH, MAX_SEARCHABLE_FIELDS, MAX_TRACE_ID_LENGTH } from '../limits.ts'

/** The client's id for a trace. */
export const TraceId = v.pipe(
  v.string(),
  v.regex(
    new RegExp(`^trace_[A-Za-z0-9_-]{1,${MAX_TRACE_ID_LENGTH - 'trace_'.length}}$`),
    `must be trace_ followed by 1 to ${MAX_TRACE_ID_LENGTH - 'trace_'.length} letters, digits, _, or -`,
  ),
  v.metadata({ examples: ['trace_0123456789abcdef012345'] }),
)

export const TRACE_NOT_FOUND = 'Trace not found'
export const TOO_LARGE = 'Observation data too large'

export const SPAN_OF_OTHER_TRACE = 'This span_id belongs to another trace'

/** An observation's or a span's value, as JSON. */
export const JsonPayload = jsonPayload(TOO_LARGE)

export const TraceName = v.pipe(text(1, MAX_NAME_LENGTH), v.metadata({ examples: ['support-answer'] }))

/** A step of a pipeline. */
export const StepId = v.pipe(text(1, MAX_NAME_LENGTH), v.metadata({ examples: ['generate-answer'] }))

export const Status = v.picklist(TRACE_STATUSES)

/** A trace's metadata. */
export const Metadata = v.pipe(
  objectOfBytes(MAX_METADATA_BYTES),
  v.metadata({
    description: `The first ${MAX_SEARCHABLE_FIELDS} values are searchable by dotted path. Fields whose names are integers come first. At most ${MAX_METADATA_BYTES} bytes as JSON.`,
    examples: [{ group_id: 'session-1' }],
  }),
)
