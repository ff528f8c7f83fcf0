import { pathWith } from '../api/client.ts'
import type { TimeRange, WindowDays } from '../insights/window.ts'

/** The path to the outputs behind one of a problem's numbers. */
export const casesPath = (
  project: string | undefined,
  problemId: string,
  { from, to }: TimeRange,
  namedBy?: 'reviewer' | 'engine',
): string => pathWith('/spans', { project, problemId, namedBy, reviewedFrom: from, reviewedTo: to })

export const problemPath = (project: string | undefined, problemId: string, days: WindowDays): string =>
  pathWith(`/problems/${problemId}`, { project, days: days === 30 ? null : days })
