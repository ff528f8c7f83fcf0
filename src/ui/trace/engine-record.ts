import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { AttributionQuality } from '../api/wire.ts'

/**
 * How often the engine that answered for a trace, in the same version, agreed with reviewers in the trace's project.
 * Requested only if the trace has an answer.
 */
export const engineRecordQuery = (
  projectSlug: string | undefined,
  answer: { engine: string; engineVersion: string } | undefined,
) =>
  queryOptions({
    queryKey: ['engine-record', projectSlug, answer?.engine, answer?.engineVersion],
    queryFn: ({ signal }) =>
      call<AttributionQuality>('/api/attribution-quality', {
        query: { projectSlug, engine: answer?.engine, engineVersion: answer?.engineVersion },
        signal,
      }),
    enabled: projectSlug !== undefined && answer !== undefined,
    // The call reads up to 10,000 decisions, and one more decision rarely changes the result.
    staleTime: 5 * 60_000,
  })

/** An engine's record on one error type. */
type TypeRecord = AttributionQuality['errorTypes'][number]

/** An engine's record on an error type. Null if no reviewer has decided on any of its answers. */
export const recordOn = ({ errorTypes }: AttributionQuality, errorType: string): TypeRecord | null =>
  errorTypes.find(record => record.errorType === errorType) ?? null

/**
 * How much of an engine's confidence its record supports: at most the low end of the record's 95% interval, which is
 * well below the observed accuracy if there are few answers. Zero if there's no record.
 */
export const supported = (confidence: number, record: TypeRecord | null): number =>
  record === null ? 0 : Math.min(confidence, record.interval.low)
