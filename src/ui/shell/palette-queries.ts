import { queryOptions } from '@tanstack/react-query'
import { MAX_NAME_LENGTH, MAX_SOUGHT_LENGTH, MIN_SOUGHT_LENGTH } from '../../limits.ts'
import { call } from '../api/client.ts'
import type { TraceList } from '../api/wire.ts'
import { DEFAULT_KEY } from '../conversations/address.ts'
import { metadataName } from '../traces/filters.ts'

/** How many traces the palette shows for one search. */
const SHOWN_TRACES = 5

const TRACE_ID = /^trace_[A-Za-z0-9_-]{1,122}$/

/** The traces that match one filter. If `value` is undefined, the query requests nothing. */
const tracesWith = (project: string | undefined, name: string, value: string | undefined, limit = SHOWN_TRACES) =>
  queryOptions({
    queryKey: ['palette', project, name, value],
    queryFn: ({ signal }) =>
      call<TraceList>('/api/traces', { query: { projectSlug: project, limit, [name]: value }, signal }),
    enabled: project !== undefined && value !== undefined,
    staleTime: 10_000,
  })

const undefinedUnless = (isSearch: boolean, text: string) => (isSearch ? text : undefined)

/** Traces whose names contain this text. */
export const namedTracesQuery = (project: string | undefined, text: string) =>
  tracesWith(project, 'nameContains', undefinedUnless(text !== '' && text.length <= MAX_NAME_LENGTH, text))

/** The trace with the `trace_…` ID that a client gave it. */
export const traceByIdQuery = (project: string | undefined, text: string) =>
  tracesWith(project, 'traceId', undefinedUnless(TRACE_ID.test(text), text), 1)

/** A trace from the conversation that this text identifies. */
export const conversationQuery = (project: string | undefined, text: string) =>
  tracesWith(project, metadataName(DEFAULT_KEY), undefinedUnless(text !== '', text), 1)

/** Whether values can be searched for this text. */
export const isSearchable = (text: string): boolean =>
  text.length >= MIN_SOUGHT_LENGTH && text.length <= MAX_SOUGHT_LENGTH

/** Traces whose values contain this text, if the reader asked for them. */
export const textTracesQuery = (project: string | undefined, text: string | undefined) =>
  tracesWith(project, 'contains', text)
