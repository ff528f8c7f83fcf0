import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID, PROMPT_ID, PROMPT_VERSION_ID, USER_ID } from '../api/story.ts'
import { described, IsoTime, isoTime, timestamp, Uuid } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import { DAY_MS, DEFAULT_INSIGHT_DAYS, MAX_INSIGHT_DAYS, MAX_INSIGHT_ROWS } from '../limits.ts'
import { type DayRange, readInsights } from '../store/insights/insights.ts'
import { projectSelector, selectedProject } from './project.ts'
import { Decided } from './text-wire.ts'

const Day = v.pipe(v.string(), v.isoDate(), v.metadata({ examples: ['2026-11-21'] }))

const Outputs = {
  outputs: described(v.number(), 'Spans with an output that have been counted'),
  reviewed: described(v.number(), 'How many of those outputs have been reviewed'),
}

export const Insights = v.object({
  from: IsoTime,
  to: described(IsoTime, 'The end of the range, exclusive'),
  outputs: v.object({
    total: described(v.number(), 'Spans with an output, in traces with a timestamp in this range'),
    reviewed: Outputs.reviewed,
    countedAt: described(v.nullable(IsoTime), 'When they were counted. Null if not counted yet.'),
  }),
  steps: v.array(v.object({ stepId: v.string(), ...Outputs, ...Decided })),
  days: described(
    v.array(v.object({ day: Day, stepId: v.string(), promptVersionId: v.nullable(Uuid), ...Decided })),
    'By day of the decision, with the step and prompt version that the span had on that day',
  ),
  promptVersions: v.array(
    v.object({
      id: Uuid,
      promptId: Uuid,
      stepId: v.string(),
      number: described(v.number(), "The version's number within its prompt; 1 is the oldest"),
      isActive: v.boolean(),
    }),
  ),
  errorTypes: v.array(
    v.object({
      errorType: v.string(),
      stepId: described(v.nullable(v.string()), 'Null if the engine blamed no span'),
      source: v.picklist(['review', 'engine']),
      count: v.number(),
    }),
  ),
  reviewers: v.array(
    v.object({ userId: Uuid, name: v.string(), days: v.array(v.object({ day: Day, reviewed: v.number() })) }),
  ),
})

export const getInsights = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/insights',
  summary: "Get review results for a project's outputs",
  description: `Covers whole UTC days. Each list has at most ${MAX_INSIGHT_ROWS} entries.`,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    from: v.optional(
      timestamp(`Any time on the first day of the range. Default: ${DEFAULT_INSIGHT_DAYS} days before the end.`),
    ),
    to: v.optional(
      timestamp(
        `Any time on the last day of the range. Default: today. The range has at most ${MAX_INSIGHT_DAYS} days.`,
      ),
    ),
  }),
  errors: { 404: 'Not found' },
  responses: { 200: Insights },
  example: {
    query: { projectId: PROJECT_ID },
    answers: {
      200: {
        from: '2026-10-23T00:00:00.000Z',
        to: '2026-11-22T00:00:00.000Z',
        outputs: { total: 1840, reviewed: 212, countedAt: '2026-11-21T11:15:00.000Z' },
        steps: [{ stepId: 'generate-answer', outputs: 920, reviewed: 212, accepted: 180, corrected: 32 }],
        days: [
          {
            day: '2026-11-21',
            stepId: 'generate-answer',
            promptVersionId: PROMPT_VERSION_ID,
            accepted: 11,
            corrected: 3,
          },
        ],
        promptVersions: [
          { id: PROMPT_VERSION_ID, promptId: PROMPT_ID, stepId: 'generate-answer', number: 2, isActive: true },
        ],
        errorTypes: [{ errorType: 'context_misinterpretation', stepId: 'generate-answer', source: 'review', count: 9 }],
        reviewers: [{ userId: USER_ID, name: 'Ada Lopez', days: [{ day: '2026-11-21', reviewed: 14 }] }],
      },
    },
  },
}).handle(async context => {
  const { query, store, now } = context
  const range = daysOf(query, now)
  const project = await selectedProject(context, query)
  return { status: 200, body: toInsights(range, await readInsights(store, project, range)) }
})

/** The range of times that the API can express. */
const FIRST_DAY = Date.parse('0000-01-01T00:00:00.000Z') / DAY_MS
const LAST_DAY = Date.parse('9999-12-31T00:00:00.000Z') / DAY_MS

/** The days of a query. 400 if the range is empty or too long. */
function daysOf({ from: fromTime, to: toTime }: { from?: number | undefined; to?: number | undefined }, now: number) {
  const to = Math.min(toTime === undefined ? Math.floor(now / DAY_MS) + 1 : Math.ceil(toTime / DAY_MS), LAST_DAY)
  const from = Math.max(fromTime === undefined ? to - DEFAULT_INSIGHT_DAYS : Math.floor(fromTime / DAY_MS), FIRST_DAY)
  if (from >= to) throw badRequest('must be before to', 'from')
  if (to - from > MAX_INSIGHT_DAYS) throw badRequest(`must be at most ${MAX_INSIGHT_DAYS} days before to`, 'from')
  return { from, to }
}

const isoDay = (day: number): string => isoTime(day * DAY_MS).slice(0, 10)

function toInsights({ from, to }: DayRange, found: Awaited<ReturnType<typeof readInsights>>) {
  const { outputs, countedAt, decisions, versions } = found
  const sumOf = (field: 'outputs' | 'reviewed') => outputs.reduce((sum, step) => sum + step[field], 0)
  const body: v.InferOutput<typeof Insights> = {
    from: isoTime(from * DAY_MS),
    to: isoTime(to * DAY_MS),
    outputs: {
      total: sumOf('outputs'),
      reviewed: sumOf('reviewed'),
      countedAt: countedAt === null ? null : isoTime(countedAt),
    },
    steps: toSteps(found),
    days: decisions.map(({ day, stepId, promptVersionId, accepted, corrected }) => ({
      day: isoDay(day),
      stepId,
      promptVersionId: promptVersionId || null,
      accepted,
      corrected,
    })),
    promptVersions: versions,
    errorTypes: [...toErrorTypes(found.namedTypes, 'review'), ...toErrorTypes(found.answers, 'engine')],
    reviewers: toReviewers(found),
  }
  return body
}

type Found = Awaited<ReturnType<typeof readInsights>>

/** Steps with outputs or decisions, by name. Steps that are counted together aren't listed. */
function toSteps({ outputs, steps }: Found): v.InferOutput<typeof Insights>['steps'] {
  const none = { outputs: 0, reviewed: 0, accepted: 0, corrected: 0 }
  const byStep = new Map(outputs.filter(({ stepId }) => stepId !== '').map(step => [step.stepId, { ...none, ...step }]))
  for (const step of steps) byStep.set(step.stepId, { ...none, ...byStep.get(step.stepId), ...step })
  return [...byStep.values()].toSorted((left, right) => (left.stepId < right.stepId ? -1 : 1))
}

const toErrorTypes = <Source extends 'review' | 'engine'>(counts: Found['answers'], source: Source) =>
  counts.map(({ errorType, stepId, count }) => ({ errorType, stepId: stepId || null, source, count }))

function toReviewers({ reviewers, names }: Found): v.InferOutput<typeof Insights>['reviewers'] {
  const nameOf = new Map(names.map(({ id, name }) => [id, name]))
  return [...Map.groupBy(reviewers, ({ userId }) => userId)].map(([userId, days]) => ({
    userId,
    name: nameOf.get(userId) ?? userId,
    days: days.map(({ day, reviewed }) => ({ day: isoDay(day), reviewed })),
  }))
}
