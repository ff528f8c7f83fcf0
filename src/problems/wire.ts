import * as v from 'valibot'
import { PROBLEM_STATES } from '../domain/problem.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { DAY_MS } from '../limits.ts'
import { Watch } from '../read/watch.ts'
import type { CountedProblem, ProblemDetails } from '../store/problems/problem-list.ts'

/** A kind of error that people or engines found in a step's outputs, and how far its fix has progressed. */
export const Problem = v.object({
  id: Uuid,
  stepId: described(v.string(), 'The step at fault: the step that the engine blames, or else the reviewed step'),
  errorType: described(v.nullable(v.string()), 'Null if neither a reviewer nor an engine named a type'),
  docSlug: described(v.nullable(v.string()), 'The knowledge doc that the cause cites. Null if it cites none.'),
  count: described(
    v.number(),
    "The number of the problem's cases in the range. A case is a span whose current decision is a correction, or a trace without such a span for which an engine found a cause.",
  ),
  byReviewers: described(v.number(), 'The number of cases whose type a reviewer named, or that have no type'),
  byEngine: described(v.number(), 'The number of cases whose type only the engine named'),
  share: described(
    v.nullable(v.number()),
    "The number of cases divided by the number of decisions on the step in the range, from 0 to 1. Null if there are more cases than decisions, which happens if people judged other steps' outputs.",
  ),
  trend: described(v.number(), 'The number of cases, minus the number in the preceding range of the same length'),
  lastAt: described(v.nullable(IsoTime), 'When the newest case in the range occurred. Null if there is none.'),
  examples: described(v.array(Uuid), 'The spans of the newest cases in the range'),
  state: described(
    v.picklist(PROBLEM_STATES),
    "open; fixing: a prompt version is linked as the candidate; proven: it met the gate and fixed the problem's test items; live: it's active; verified: it helped; dismissed: a person decided not to fix it",
  ),
  assignee: described(
    v.nullable(Uuid),
    "The ID of the user that the problem is assigned to. Null if it isn't assigned.",
  ),
  candidate: v.nullable(
    v.object({
      promptId: Uuid,
      versionId: Uuid,
      number: v.number(),
      note: v.nullable(v.string()),
      at: described(IsoTime, 'When the candidate was linked'),
    }),
  ),
  proof: v.nullable(
    v.object({
      experimentId: described(v.nullable(Uuid), "The candidate's experiment. Null if there is none."),
      split: described(
        v.string(),
        "The split whose items are counted: the gate's split or, if the step has no gate, `test`",
      ),
      met: described(v.boolean(), 'Whether the experiment meets the gate or, if the step has none, the default gate'),
      fixed: described(v.number(), "How many of the problem's items in that split the candidate fixed"),
      items: described(
        v.number(),
        "How many of the problem's items in that split have a result. `GET /api/experiments/{experimentId}/items?problemId=&split=` lists them.",
      ),
      needed: described(v.number(), 'How many of these items must be fixed'),
      reason: described(v.nullable(v.string()), "Why the fix isn't proven. Null if it is."),
    }),
  ),
  watch: described(
    v.nullable(Watch),
    "How the candidate compares with the previous version. Null while it isn't active.",
  ),
  note: described(v.nullable(v.string()), 'Why the problem was dismissed, or anything else that people should know'),
})

/** How far a problem's fix has progressed. */
export type Progress = Pick<v.InferOutput<typeof Problem>, 'state' | 'candidate' | 'proof' | 'watch'>

export function toProblem(
  id: string,
  problem: CountedProblem,
  { decisions, examples }: ProblemDetails,
  progress: Progress,
): v.InferOutput<typeof Problem> {
  const { stepId, errorType, docSlug, byReviewers, byEngine, before, lastDay, assigneeId, note } = problem
  const count = byReviewers + byEngine
  const lastAt = examples[0]?.at ?? (lastDay === null ? null : lastDay * DAY_MS)
  return {
    id,
    stepId,
    errorType: errorType || null,
    docSlug: docSlug || null,
    count,
    byReviewers,
    byEngine,
    share: decisions === 0 || decisions < count ? null : count / decisions,
    trend: count - before,
    lastAt: lastAt === null ? null : isoTime(lastAt),
    examples: examples.map(({ spanId }) => spanId),
    ...progress,
    assignee: assigneeId,
    note,
  }
}
