import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID, PROMPT_ID, PROMPT_VERSION_ID, USER_ID } from '../api/story.ts'
import { countDurations, percentile, sumHistograms } from '../domain/duration-histogram.ts'
import { type StepUse, sumUse } from '../domain/step-use.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { DAY_MS, MAX_INSIGHT_ROWS } from '../limits.ts'
import { type DayRange, readInsights } from '../store/insights/insights.ts'
import { dayParameters, daysOf } from './days.ts'
import { projectSelector, selectedProject } from './project.ts'
import { Decided } from './text-wire.ts'

const Day = v.pipe(v.string(), v.isoDate(), v.metadata({ examples: ['2026-11-21'] }))

const Outputs = {
  outputs: described(v.number(), 'The number of spans with an output, as of `countedAt`'),
  reviewed: described(v.number(), 'How many of those outputs have been reviewed'),
}

const Usage = v.nullable(v.object({ inputTokens: v.number(), outputTokens: v.number() }))

const Used = {
  usage: described(Usage, 'The tokens of the model calls. Null if none are known.'),
  costUsd: described(v.nullable(v.number()), 'The cost of the model calls. Null if none is known.'),
}

const Durations = {
  duration: described(
    v.nullable(v.object({ count: v.number(), p50Ms: v.number(), p95Ms: v.number() })),
    'How long the outputs and model calls took. The percentiles are estimated from a histogram, to within 15.5%. Null if no duration is known.',
  ),
}

export const Insights = v.object({
  from: IsoTime,
  to: described(IsoTime, 'The end of the range, exclusive'),
  outputs: v.object({
    total: described(v.number(), 'The number of spans with an output in traces with a timestamp in this range'),
    reviewed: Outputs.reviewed,
    countedAt: described(v.nullable(IsoTime), "When the outputs were counted. Null if they haven't been counted yet."),
  }),
  ...Used,
  steps: v.array(v.object({ stepId: v.string(), ...Outputs, ...Decided, ...Used, ...Durations })),
  versions: described(
    v.array(v.object({ stepId: v.string(), promptVersionId: v.nullable(Uuid), ...Used, ...Durations })),
    'By step and prompt version, in traces with a timestamp in this range. Includes model calls that nobody reviews, such as embeddings.',
  ),
  useDays: described(
    v.array(v.object({ day: Day, stepId: v.string(), promptVersionId: v.nullable(Uuid), ...Used, ...Durations })),
    "By day of the trace's timestamp",
  ),
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

const USED = { usage: { inputTokens: 379_040, outputTokens: 33_120 }, costUsd: 0.1656 }
const TOOK = { duration: { count: 920, p50Ms: 868, p95Ms: 2743 } }

export const getInsights = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/insights',
  summary: "Get review results for a project's outputs",
  description: `Covers whole UTC days. Each list has at most ${MAX_INSIGHT_ROWS} entries.`,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    ...dayParameters,
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
        ...USED,
        steps: [
          { stepId: 'generate-answer', outputs: 920, reviewed: 212, accepted: 180, corrected: 32, ...USED, ...TOOK },
        ],
        versions: [{ stepId: 'generate-answer', promptVersionId: PROMPT_VERSION_ID, ...USED, ...TOOK }],
        useDays: [
          {
            day: '2026-11-21',
            stepId: 'generate-answer',
            promptVersionId: PROMPT_VERSION_ID,
            usage: { inputTokens: 25_132, outputTokens: 2196 },
            costUsd: 0.01098,
            duration: { count: 61, p50Ms: 868, p95Ms: 2057 },
          },
        ],
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

const isoDay = (day: number): string => isoTime(day * DAY_MS).slice(0, 10)

function toInsights({ from, to }: DayRange, found: Awaited<ReturnType<typeof readInsights>>) {
  const { outputs, decisions, versions } = found
  const countedAt = lastCount(found)
  const sumOf = (field: 'outputs' | 'reviewed') => outputs.reduce((sum, step) => sum + step[field], 0)
  const body: v.InferOutput<typeof Insights> = {
    from: isoTime(from * DAY_MS),
    to: isoTime(to * DAY_MS),
    outputs: {
      total: sumOf('outputs'),
      reviewed: sumOf('reviewed'),
      countedAt: countedAt === null ? null : isoTime(countedAt),
    },
    ...toUsed(found.used),
    steps: toSteps(found),
    versions: found.used.filter(({ stepId }) => stepId !== '').map(toVersion),
    useDays: found.usedByDay
      .filter(({ stepId }) => stepId !== '')
      .map(use => ({ day: isoDay(use.day), ...toVersion(use) })),
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

/** The time up to which the outputs have been counted. Null if they haven't been. */
function lastCount({ counted }: Found): number | null {
  const changed = counted.flatMap(({ changedAt }) => changedAt ?? [])
  if (changed.length > 0) return Math.min(...changed)
  const all = counted.flatMap(({ countedAt }) => countedAt ?? [])
  return all.length === 0 ? null : Math.max(...all)
}

function toUsed(uses: readonly StepUse[]) {
  const { inputTokens, outputTokens, costNanoUsd } = sumUse(uses)
  return {
    usage: inputTokens === null || outputTokens === null ? null : { inputTokens, outputTokens },
    costUsd: costNanoUsd === null ? null : costNanoUsd / 1e9,
  }
}

function toDuration(uses: readonly StepUse[]) {
  const histogram = sumHistograms(uses.map(({ durations }) => durations))
  const [p50Ms, p95Ms] = [percentile(histogram, 0.5), percentile(histogram, 0.95)]
  return { duration: p50Ms === null || p95Ms === null ? null : { count: countDurations(histogram), p50Ms, p95Ms } }
}

const toVersion = (use: StepUse) => ({
  stepId: use.stepId,
  promptVersionId: use.promptVersionId || null,
  ...toUsed([use]),
  ...toDuration([use]),
})

/** Steps with outputs or decisions, sorted by name. Steps that are counted together aren't listed. */
function toSteps({ outputs, steps, used }: Found): v.InferOutput<typeof Insights>['steps'] {
  const none = { outputs: 0, reviewed: 0, accepted: 0, corrected: 0 }
  const byStep = new Map(outputs.filter(({ stepId }) => stepId !== '').map(step => [step.stepId, { ...none, ...step }]))
  for (const step of steps) byStep.set(step.stepId, { ...none, ...byStep.get(step.stepId), ...step })
  const usesOf = Map.groupBy(used, ({ stepId }) => stepId)
  return [...byStep.values()]
    .toSorted((left, right) => (left.stepId < right.stepId ? -1 : 1))
    .map(step => {
      const uses = usesOf.get(step.stepId) ?? []
      return { ...step, ...toUsed(uses), ...toDuration(uses) }
    })
}

const toErrorTypes = <Source extends 'review' | 'engine'>(counts: Found['answers'], source: Source) =>
  counts.map(({ errorType, stepId, count }) => ({ errorType, stepId: stepId || null, source, count }))

function toReviewers({ reviewers, names }: Found): v.InferOutput<typeof Insights>['reviewers'] {
  return [...Map.groupBy(reviewers, ({ userId }) => userId)].map(([userId, days]) => ({
    userId,
    name: names.get(userId) ?? userId,
    days: days.map(({ day, reviewed }) => ({ day: isoDay(day), reviewed })),
  }))
}
