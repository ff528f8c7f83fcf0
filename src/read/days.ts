import * as v from 'valibot'
import { timestamp } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import { DAY_MS, DEFAULT_INSIGHT_DAYS, MAX_INSIGHT_DAYS } from '../limits.ts'
import type { DayRange } from '../store/insights/insights.ts'

/** The query parameters that select whole UTC days. */
export const dayParameters = {
  from: v.optional(
    timestamp(`Any time on the first day of the range. Default: ${DEFAULT_INSIGHT_DAYS} days before the end.`),
  ),
  to: v.optional(
    timestamp(
      `Any time on the last day of the range. Default: today. The range can have at most ${MAX_INSIGHT_DAYS} days.`,
    ),
  ),
}

/** The range of days that the API accepts. */
const FIRST_DAY = Date.parse('0000-01-01T00:00:00.000Z') / DAY_MS
const LAST_DAY = Date.parse('9999-12-31T00:00:00.000Z') / DAY_MS

/** The days of a query. 400 if the range is empty or too long. */
export function daysOf(
  { from: fromTime, to: toTime }: { from?: number | undefined; to?: number | undefined },
  now: number,
): DayRange {
  const to = Math.min(toTime === undefined ? Math.floor(now / DAY_MS) + 1 : Math.ceil(toTime / DAY_MS), LAST_DAY)
  const from = Math.max(fromTime === undefined ? to - DEFAULT_INSIGHT_DAYS : Math.floor(fromTime / DAY_MS), FIRST_DAY)
  if (from >= to) throw badRequest('must be before `to`', 'from')
  if (to - from > MAX_INSIGHT_DAYS) throw badRequest(`must be at most ${MAX_INSIGHT_DAYS} days before \`to\``, 'from')
  return { from, to }
}
