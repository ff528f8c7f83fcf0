import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { afterEach, describe, inject, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS, DELETION_SETTLE_MS, MIN_COUNT_REST_MS, RETENTION_PASS_MS } from '../../src/limits.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * Reviewers decide over several days, in this system or in another one. Meanwhile, spans change their steps, outputs,
 * and usage; engines answer; and traces are deleted or expire, and may or may not be purged. A reviewer may be deleted,
 * and steps may be renamed. Each figure in insights must then agree with its list: a count equals the length
 * of its list of spans or traces plus the list's `expired`, and tokens, costs, and durations are those of the listed
 * spans.
 */

const STEPS = ['classify', 'answer'] as const
const STEP_NAMES: readonly Readonly<Record<string, string>>[] = [
  {},
  { classify: 'answer' },
  { classify: 'merged', answer: 'merged' },
  { run: 'answer' },
]
const ERROR_TYPES = [undefined, 'reasoning_error', 'system_failure'] as const
const EMAILS = ['ada@example.com', 'kofi@example.com'] as const
const FATES = ['stays', 'stays', 'is deleted', 'expires'] as const
const ANSWER = 'The answer of the run'
const TRACES = 4
const SPANS_PER_TRACE = 3

const act = fc.record({
  kind: fc.constantFrom('accept', 'correct', 'correct', 'reset', 'move', 'answer again', 'clear', 'analyze'),
  isImported: fc.boolean(),
  reviewer: fc.nat(1),
  spans: fc.uniqueArray(fc.nat(TRACES * SPANS_PER_TRACE - 1), { minLength: 1, maxLength: 4 }),
  value: fc.nat(2),
  errorType: fc.nat(ERROR_TYPES.length - 1),
  step: fc.nat(STEPS.length - 1),
})
const rounds = fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })

const scenario = fc.record({
  before: rounds,
  fates: fc.array(fc.record({ fate: fc.constantFrom(...FATES), isPurged: fc.boolean(), isAnalyzed: fc.boolean() }), {
    minLength: TRACES,
    maxLength: TRACES,
  }),
  after: rounds,
  isReviewerDeleted: fc.boolean(),
  names: fc.constantFrom(...STEP_NAMES),
})
type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never

/** Bindings whose queue only records jobs. */
function recordingJobs(): { bindings: Env; jobs: Job[] } {
  const jobs: Job[] = []
  const JOBS = {
    send: async (job: Job) => void jobs.push(job),
    sendBatch: async (batch: { body: Job }[]) => void jobs.push(...batch.map(({ body }) => body)),
  } as unknown as Queue<Job>
  return { bindings: { ...env, JOBS }, jobs }
}

/** Retention runs at most once an hour, so each run of cron is in a later hour. */
let hour = Date.parse('2027-01-01T00:00:00.000Z')

/**
 * Each run's traces come after those of earlier runs, because cron looks only for traces newer than those it has seen.
 */
let start = Date.parse('2026-11-10T22:00:00.000Z')

/**
 * The days that insights cover, and the times when traces run. Only traces from the first of these times may expire.
 */
const WINDOW = { from: '2026-01-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' }
const EXPIRING = '2026-01-01T12:00:00.000Z'
const LASTING = ['2026-12-30T12:00:00.000Z', '2026-12-31T23:59:59.999Z'] as const
/** Traces before this day expire. */
const EXPIRED_UNTIL = Date.parse('2026-07-01T00:00:00.000Z')

/** What a model call in a trace used. The costs aren't sums of powers of two, so lost digits would be noticeable. */
const usedBy = (index: number) => ({
  model: 'gpt-4.1-mini',
  usage: { input_tokens: 100 + index, output_tokens: 10 * index },
  ...(index > 0 && { cost_usd: 0.1 * index }),
})

/** Runs cron until the project's days are counted. */
async function countEverything(bindings: Env, { project }: Org): Promise<void> {
  const since = hour
  for (let run = 0; run < 10; run++) {
    hour += 2 * MIN_COUNT_REST_MS
    await sweep(bindings, hour)
    const { results } = await stored
      .prepare(
        `select 1 from counted_days where project_key = (select key from projects where id = ?)
         and (is_changed = 1 or progress is not null or counted_at is null or counted_at < ?)`,
      )
      .bind(project.id, since)
      .all()
    if (run > 0 && results.length === 0) return
  }
  throw new Error('The days were never counted')
}

const readInsights = async ({ read }: Org) =>
  (await read.get(`/api/insights?projectSlug=support&${new URLSearchParams(WINDOW)}`)).body

interface Played {
  org: Org
  versionId: string
  /** The steps' figures for the day whose traces may expire, read before any of those traces expire. */
  keptUse: Used[]
  /** A time on the last day on which decisions were made. */
  now: number
}

async function play(drawn: Scenario): Promise<Played> {
  start += 60_000
  let now = start
  vi.setSystemTime(now)
  const org = await newOrg()
  const { bindings, jobs } = recordingJobs()
  const owner = org.clientOf(org.ownerKey, bindings)
  const { versionId } = (
    await owner.post('/api/prompts', { projectSlug: 'support', stepId: 'answer', content: 'Answer.' })
  ).body
  const traceIds: string[] = []
  const spanIds: string[] = []
  for (const [index, { fate }] of drawn.fates.entries()) {
    const timestamp = fate === 'expires' ? EXPIRING : (LASTING[index % 2] ?? EXPIRING)
    const trace = aTrace({ name: 'run', timestamp })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { trace_id } = trace
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id, data: ANSWER }))
    const agent = crypto.randomUUID()
    const steps = [
      aSpan({ trace_id, step_id: 'classify', ...usedBy(index), duration_ms: 10 ** index, parent_span_id: agent }),
      // Some roots are reviewed together with their last step, because both have the same text.
      aSpan({
        trace_id,
        prompt_version_id: versionId,
        duration_ms: 0.5 + 1234 * index,
        ...(index % 2 === 0 && { output: ANSWER }),
      }),
    ]
    // The agent repeats the usage of its call. Nobody reviews the other call, which has no output.
    const others = [
      aSpan({ trace_id, span_id: agent, step_id: 'agent', output: undefined, ...usedBy(index) }),
      aSpan({ trace_id, step_id: 'embed', output: undefined, ...usedBy(index + 2), duration_ms: 7 }),
    ]
    for (const step of [...steps, ...others]) await org.ingest.post('/api/v1/spans', step)
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, correction: { answer: 'No' } }))
    traceIds.push(id)
    const root = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
    spanIds.push(root, ...steps.map(({ span_id }) => span_id))
  }
  const reviewers = [await reviewerOf(org, EMAILS[0]), await reviewerOf(org, EMAILS[1])]

  const pipeline = org.clientOf(await org.keyFor({}), bindings)
  const analyze = async (traceId: string) => {
    await pipeline.post(`/api/v1/traces/${traceId}/attribute`, {}, { prefer: 'respond-async' })
    for (const job of jobs) if (job.kind === 'attribute_trace') await runJob(job, env)
  }

  const decide = async (rounds: Scenario['before']) => {
    for (const round of rounds) {
      now += DAY_MS / 2
      vi.setSystemTime(now)
      for (const { kind, isImported, reviewer, spans, value, errorType, step } of round) {
        const ids = spans.map(index => spanIds[index] ?? '')
        if (kind === 'analyze') {
          const { body, status } = await org.read.get(`/api/traces/${traceIds[(spans[0] ?? 0) % TRACES]}`)
          if (status === 200) await analyze(body.traceId)
          continue
        }
        if (kind === 'move' || kind === 'answer again' || kind === 'clear') {
          for (const index of spans) {
            const { body, status } = await org.read.get(`/api/traces/${traceIds[Math.floor(index / SPANS_PER_TRACE)]}`)
            const span = { trace_id: body.traceId, span_id: spanIds[index] }
            if (status !== 200) continue
            if (kind !== 'move') {
              const data = kind === 'clear' ? null : `Answer ${value}`
              await org.ingest.post('/api/v1/observations', anObservation({ ...span, data }))
            } else if (index % SPANS_PER_TRACE > 0) {
              await org.ingest.post('/api/v1/spans', aSpan({ ...span, step_id: STEPS[step] }))
            }
          }
          continue
        }
        const review = {
          decision: kind,
          errorType: ERROR_TYPES[errorType],
          comment: crypto.randomUUID(),
          ...(kind === 'correct' && { approvedOutput: value }),
          // Some of these decisions are older than the current ones.
          ...(isImported && {
            source: 'import',
            by: EMAILS[reviewer],
            at: new Date(now - value * DAY_MS).toISOString(),
          }),
        }
        const by = isImported ? owner : client({ 'x-api-key': reviewers[reviewer]?.key ?? '' }, bindings)
        await by.post('/api/reviews', { reviews: ids.map(spanId => ({ spanId, ...review })) })
      }
    }
  }

  for (const [index, { isAnalyzed }] of drawn.fates.entries()) {
    if (isAnalyzed) await analyze((await org.read.get(`/api/traces/${traceIds[index]}`)).body.traceId)
  }
  await decide(drawn.before)
  await countEverything(bindings, org)
  const keptUse = usedOn(await readInsights(org), EXPIRING)
  for (const [index, { fate }] of drawn.fates.entries()) {
    if (fate === 'is deleted') await owner.delete(`/api/traces/${traceIds[index]}`)
  }
  const settings = `/api/projects/${org.project.id}`
  hour += 2 * RETENTION_PASS_MS
  await owner.patch(settings, { retentionDays: Math.floor((hour - EXPIRED_UNTIL) / DAY_MS), retainReviewed: false })
  await sweep(bindings, hour)
  await owner.patch(settings, { retentionDays: null })
  const purged = drawn.fates.flatMap(({ isPurged }, index) => (isPurged ? [traceIds[index]] : []))
  const { results } = await stored
    .prepare('select key from traces where deleted_at is not null and id in (select value from json_each(?))')
    .bind(JSON.stringify(purged))
    .all()
  const keys = results.map(({ key }) => key)
  for (const job of jobs) if (job.kind === 'purge_trace' && keys.includes(job.traceKey)) await runJob(job, env)
  await decide(drawn.after)
  if (drawn.isReviewerDeleted) {
    await owner.delete(`/api/users/${reviewers[0]?.userId}`)
    const job = jobs.find(({ kind }) => kind === 'forget_user')
    for (const wait of [0, DELETION_SETTLE_MS]) {
      now += wait
      vi.setSystemTime(now)
      if (job) await runJob(job, env)
    }
  }
  await owner.put(`${settings}/step-names`, { names: drawn.names })
  // A late output is counted a day later.
  hour += DAY_MS
  await countEverything(bindings, org)
  return { org, versionId, keptUse, now }
}

type Filters = Record<string, string | null>

/** Reads all pages of a list. */
async function listed({ read }: Org, of: 'spans' | 'traces', filters: Filters) {
  const query = new URLSearchParams({ projectSlug: 'support', limit: '4' })
  for (const [name, value] of Object.entries(filters)) if (value !== null) query.set(name, value)
  const { body, status } = await read.get(`/api/${of}?${query}`)
  if (status !== 200) throw new Error(`${query}: ${status}`)
  const items = [...body[of]]
  for (let cursor = body.nextCursor; cursor !== null; ) {
    const next = (await read.get(`/api/${of}?${query}&cursor=${cursor}`)).body
    if ('expired' in next) throw new Error('a later page has the field `expired`')
    items.push(...next[of])
    cursor = next.nextCursor
  }
  return { items, expired: body.expired }
}

/** What the model calls for a step and version used on a day, and how long the calls took. */
interface Used {
  day: string
  stepId: string
  promptVersionId: string | null
  usage: { inputTokens: number; outputTokens: number } | null
  costUsd: number | null
  duration: { count: number; p50Ms: number; p95Ms: number } | null
}

const placeOf = ({ day, stepId, promptVersionId }: Pick<Used, 'day' | 'stepId' | 'promptVersionId'>) =>
  JSON.stringify([day, stepId, promptVersionId])

const usedOn = ({ useDays }: { useDays: Used[] }, time: string): Used[] =>
  useDays.filter(({ day }) => day === time.slice(0, 10))

/** The fields of a listed span that determine what it used. */
interface ListedSpan {
  id: string
  trace: { id: string }
  parentSpanId: string | null
  stepId: string
  promptVersionId: string | null
  model: string | null
  usage: { inputTokens: number; outputTokens: number } | null
  costUsd: number | null
  durationMs: number | null
}

/** Leaves out what a span repeats from the calls below it. */
function withoutRepeats(spans: readonly ListedSpan[]): ListedSpan[] {
  return spans.map(span => {
    const below = spans.filter(({ parentSpanId, usage }) => parentSpanId === span.id && usage !== null)
    const sum = (field: 'inputTokens' | 'outputTokens') =>
      below.reduce((all, { usage }) => all + (usage?.[field] ?? 0), 0)
    const isRepeated =
      below.length > 0 &&
      span.usage?.inputTokens === sum('inputTokens') &&
      span.usage.outputTokens === sum('outputTokens')
    if (!isRepeated) return span
    return { ...span, usage: null, costUsd: below.some(({ costUsd }) => costUsd !== null) ? null : span.costUsd }
  })
}

/** Computes the figures of the given spans. */
function figuresOf(spans: readonly ListedSpan[]) {
  const used = spans.flatMap(({ usage }) => usage ?? [])
  const costs = spans.flatMap(({ costUsd }) => costUsd ?? [])
  const durations = spans.flatMap(({ durationMs }) => durationMs ?? []).toSorted((left, right) => left - right)
  const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0)
  return {
    usage:
      used.length === 0
        ? null
        : {
            inputTokens: sum(used.map(({ inputTokens }) => inputTokens)),
            outputTokens: sum(used.map(({ outputTokens }) => outputTokens)),
          },
    costUsd: costs.length === 0 ? null : sum(costs),
    durations,
  }
}

type Figures = Omit<Used, 'day' | 'stepId' | 'promptVersionId'>

/** Throws unless the figures match the spans with the precision that the API promises. */
function mustHaveUsed(what: string, shown: Omit<Figures, 'duration'> & Partial<Figures>, spans: readonly ListedSpan[]) {
  const { usage, costUsd, durations } = figuresOf(spans)
  const isSameCost = costUsd === null ? shown.costUsd === null : Math.abs((shown.costUsd ?? -1) - costUsd) < 1e-9
  if (JSON.stringify(shown.usage) !== JSON.stringify(usage) || !isSameCost) {
    throw new Error(
      `${what}: ${JSON.stringify([shown.usage, shown.costUsd])}, listed ${JSON.stringify([usage, costUsd])}`,
    )
  }
  if (shown.duration === undefined) return
  const isNear = (figure: number, share: number) => {
    const exact = durations[Math.ceil(share * durations.length) - 1] ?? 0
    return exact < 1 ? figure === 0 : Math.abs(figure / exact - 1) < 0.155 + 0.5 / exact
  }
  const { duration } = shown
  const isRight = duration
    ? duration.count === durations.length && isNear(duration.p50Ms, 0.5) && isNear(duration.p95Ms, 0.95)
    : durations.length === 0
  if (!isRight) throw new Error(`${what}: ${JSON.stringify(duration)}, listed ${durations}`)
}

describe('the figures in insights', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('match the spans and traces that the API lists for them, apart from expired spans and traces', {
    timeout: 120_000 * THOROUGHNESS,
  }, async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const property = fc.asyncProperty(scenario, async drawn => {
      const { org, versionId, keptUse, now } = await play(drawn)
      const body = await readInsights(org)
      const mustCount = async (what: string, of: 'spans' | 'traces', filters: Filters, figure: number) => {
        const { items, expired } = await listed(org, of, { ...filters, ...(of === 'spans' && { payloads: 'preview' }) })
        const ids = new Set(items.map(({ id }) => id))
        if (items.length + (expired ?? 0) !== figure || ids.size !== items.length || expired < 0) {
          throw new Error(
            `${what}: ${items.length} listed, ${ids.size} distinct, ${expired} expired, ${figure} counted`,
          )
        }
        return items
      }

      // Decisions, by the day on which they were made.
      const window = { reviewedFrom: body.from, reviewedTo: body.to }
      const mustMatch = async (what: string, filters: Filters, figure: number) => {
        for (const { stepId, promptVersionId, review } of await mustCount(what, 'spans', filters, figure)) {
          const isRight =
            (!filters.stepId || stepId === filters.stepId) &&
            (!filters.promptVersionId || filters.promptVersionId.split(',').includes(promptVersionId ?? 'none')) &&
            (!filters.errorType || review.errorType === filters.errorType) &&
            (!filters.reviewerId || review.by === filters.reviewerId) &&
            (!filters.decision || review.state === { accept: 'accepted', correct: 'corrected' }[filters.decision])
          if (!isRight) throw new Error(`${what} lists another decision's span`)
        }
      }
      let decided = 0
      for (const { stepId, accepted, corrected } of body.steps) {
        decided += accepted + corrected
        await mustMatch('step', { ...window, stepId, decision: 'accept' }, accepted)
        await mustMatch('step', { ...window, stepId, decision: 'correct' }, corrected)
        await mustMatch('versions', { ...window, stepId, promptVersionId: `none,${versionId}` }, accepted + corrected)
      }
      await mustMatch('all', window, decided)
      for (const { day, stepId, promptVersionId, accepted, corrected } of body.days) {
        const noon = `${day}T12:00:00.000Z`
        const on = { stepId, promptVersionId: promptVersionId ?? 'none', reviewedFrom: noon, reviewedTo: noon }
        await mustMatch('version', { ...on, decision: 'accept' }, accepted)
        await mustMatch('version', { ...on, decision: 'correct' }, corrected)
      }
      for (const { userId: reviewerId, days } of body.reviewers) {
        for (const { day, reviewed } of days) {
          const noon = `${day}T12:00:00.000Z`
          await mustMatch('reviewer', { reviewerId, reviewedFrom: noon, reviewedTo: noon }, reviewed)
        }
      }
      const [prompt] = (await org.read.get('/api/prompts?projectSlug=support')).body.prompts
      const [version] = (await org.read.get(`/api/prompts/${prompt.id}`)).body.versions
      await mustMatch('prompt', { promptVersionId: versionId, decision: 'accept' }, version.accepted)
      await mustMatch('prompt', { promptVersionId: versionId, decision: 'correct' }, version.corrected)
      const today = new Date(now).toISOString().slice(0, 10)
      const byReviewer = (counts: { userId: string; reviewed: number }[]) =>
        JSON.stringify(counts.toSorted((left, right) => (left.userId < right.userId ? -1 : 1)))
      const reviewedToday = body.reviewers.flatMap(
        ({ userId, days }: { userId: string; days: { day: string; reviewed: number }[] }) =>
          days.flatMap(({ day, reviewed }) => (day === today ? [{ userId, reviewed }] : [])),
      )
      const queue = (await org.owner.get('/api/review-queue?projectSlug=support')).body
      if (byReviewer(queue.today) !== byReviewer(reviewedToday)) {
        throw new Error(`today: ${byReviewer(queue.today)}, insights ${byReviewer(reviewedToday)}`)
      }

      // Error types: those that reviewers named are counted by decision, and those that engines named are counted by
      // trace.
      for (const { errorType, stepId, source, count } of body.errorTypes) {
        if (source === 'review') {
          await mustMatch('error type', { ...window, errorType, stepId }, count)
          continue
        }
        const step: Filters = stepId === null ? { engineHasStep: 'false' } : { engineStepId: stepId }
        const ofType = { engineErrorType: errorType, engineFrom: body.from, engineTo: body.to }
        await mustCount("engine's answers", 'traces', { ...ofType, ...step }, count)
      }
      const answers: number = body.errorTypes
        .filter(({ source }: { source: string }) => source === 'engine')
        .reduce((sum: number, { count }: { count: number }) => sum + count, 0)
      await mustCount('all answers', 'traces', { engineFrom: body.from, engineTo: body.to }, answers)

      // Outputs, and the usage of calls, by the day of the trace.
      const ofDays = { from: body.from, to: body.to, reviewable: 'true' }
      const mustList = async (what: string, filters: Filters, outputs: number, reviewed: number) => {
        await mustCount(`${what}'s outputs`, 'spans', { ...ofDays, ...filters }, outputs)
        await mustCount(`${what}'s reviewed outputs`, 'spans', { ...ofDays, ...filters, review: 'reviewed' }, reviewed)
        const waiting = { ...ofDays, ...filters, review: 'waiting' }
        await mustCount(`${what}'s waiting outputs`, 'spans', waiting, outputs - reviewed)
      }
      await mustList('project', {}, body.outputs.total, body.outputs.reviewed)
      for (const { stepId, outputs, reviewed } of body.steps) await mustList('step', { stepId }, outputs, reviewed)
      if (body.outputs.countedAt === null) throw new Error('The outputs were never counted')

      const { items: reviewable } = await listed(org, 'spans', ofDays)
      const isOutput = new Set(reviewable.map(({ id }) => id))
      const { items: traces } = await listed(org, 'traces', { kind: 'all' })
      const dayOf = new Map(traces.map(({ id, createdAt }) => [id, createdAt.slice(0, 10)]))
      const { items: all } = await listed(org, 'spans', { kind: 'all', from: body.from, to: body.to })
      const counted = withoutRepeats(all).filter(
        ({ id }, index) => isOutput.has(id) || all[index].model !== null || all[index].usage !== null,
      )
      const isKept = drawn.fates.some(({ fate }) => fate === 'expires')
      const lasting: Used[] = body.useDays.filter(({ day }: Used) => !isKept || day !== EXPIRING.slice(0, 10))
      const byPlace = Map.groupBy(counted, ({ trace, stepId, promptVersionId }) =>
        placeOf({ day: dayOf.get(trace.id) ?? '', stepId, promptVersionId }),
      )
      for (const used of lasting) {
        mustHaveUsed(placeOf(used), used, byPlace.get(placeOf(used)) ?? [])
        byPlace.delete(placeOf(used))
      }
      for (const [place, spans] of byPlace) {
        if (!isKept || !place.includes(EXPIRING.slice(0, 10)))
          throw new Error(`${place} isn't counted: ${spans.length}`)
      }
      if (isKept && drawn.names === STEP_NAMES[0]) {
        const kept = usedOn(body, EXPIRING)
        if (JSON.stringify(kept) !== JSON.stringify(keptUse)) {
          throw new Error(`kept ${JSON.stringify(kept)}, before ${JSON.stringify(keptUse)}`)
        }
      }
    })
    await fc.assert(property, { numRuns: 20 * THOROUGHNESS, interruptAfterTimeLimit: 100_000 * THOROUGHNESS })
  })
})
