import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { afterEach, describe, inject, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS, DELETION_SETTLE_MS, RETENTION_PASS_MS } from '../../src/limits.ts'
import { anObservation, aSpan, aTrace } from '../support/builders.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * Reviewers decide over several days, while spans change their steps and traces are deleted or expire, purged or not.
 * A reviewer may be deleted, and steps renamed. Each number of decisions in insights must then equal the length of its
 * list of spans plus the list's `expired`.
 */

const STEPS = ['classify', 'answer'] as const
const STEP_NAMES: readonly Readonly<Record<string, string>>[] = [
  {},
  { classify: 'answer' },
  { classify: 'merged', answer: 'merged' },
  { run: 'answer' },
]
const ERROR_TYPES = [undefined, 'reasoning_error', 'system_failure'] as const
const FATES = ['stays', 'stays', 'is deleted', 'expires'] as const
const ANSWER = 'The answer of the run'
const TRACES = 4
const SPANS_PER_TRACE = 3

const act = fc.record({
  kind: fc.constantFrom('accept', 'correct', 'correct', 'reset', 'move', 'answer again'),
  reviewer: fc.nat(1),
  spans: fc.uniqueArray(fc.nat(TRACES * SPANS_PER_TRACE - 1), { minLength: 1, maxLength: 4 }),
  value: fc.nat(2),
  errorType: fc.nat(ERROR_TYPES.length - 1),
  step: fc.nat(STEPS.length - 1),
})
const rounds = fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })

const scenario = fc.record({
  before: rounds,
  fates: fc.array(fc.record({ fate: fc.constantFrom(...FATES), isPurged: fc.boolean() }), {
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

/** Retention runs at most once an hour, so each run of cron is in a later one. */
let hour = Date.parse('2027-01-01T00:00:00.000Z')

async function play(drawn: Scenario): Promise<{ org: Org; versionId: string }> {
  let now = Date.parse('2026-11-10T22:00:00.000Z')
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
    const timestamp = fate === 'expires' ? '2026-01-01T00:00:00.000Z' : '2030-01-01T00:00:00.000Z'
    const trace = aTrace({ name: 'run', timestamp })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { trace_id } = trace
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id, data: ANSWER }))
    const steps = [
      aSpan({ trace_id, step_id: 'classify' }),
      // Some roots are reviewed with their last step, because they have its text.
      aSpan({ trace_id, prompt_version_id: versionId, ...(index % 2 === 0 && { output: ANSWER }) }),
    ]
    for (const step of steps) await org.ingest.post('/api/v1/spans', step)
    traceIds.push(id)
    const root = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
    spanIds.push(root, ...steps.map(({ span_id }) => span_id))
  }
  const reviewers = [await reviewerOf(org), await reviewerOf(org)]

  const decide = async (rounds: Scenario['before']) => {
    for (const round of rounds) {
      now += DAY_MS / 2
      vi.setSystemTime(now)
      for (const { kind, reviewer, spans, value, errorType, step } of round) {
        const ids = spans.map(index => spanIds[index] ?? '')
        if (kind === 'move' || kind === 'answer again') {
          const index = spans[0] ?? 0
          const { body, status } = await org.read.get(`/api/traces/${traceIds[Math.floor(index / SPANS_PER_TRACE)]}`)
          const span = { trace_id: body.traceId, span_id: ids[0] }
          if (status !== 200) continue
          if (kind === 'answer again') {
            await org.ingest.post('/api/v1/observations', anObservation({ ...span, data: `Answer ${value}` }))
          } else if (index % SPANS_PER_TRACE > 0) {
            await org.ingest.post('/api/v1/spans', aSpan({ ...span, step_id: STEPS[step] }))
          }
          continue
        }
        const review = {
          decision: kind,
          errorType: ERROR_TYPES[errorType],
          comment: crypto.randomUUID(),
          ...(kind === 'correct' && { approvedOutput: value }),
        }
        const by = client({ 'x-api-key': reviewers[reviewer]?.key ?? '' }, bindings)
        await by.post('/api/reviews', { reviews: ids.map(spanId => ({ spanId, ...review })) })
      }
    }
  }

  await decide(drawn.before)
  for (const [index, { fate }] of drawn.fates.entries()) {
    if (fate === 'is deleted') await owner.delete(`/api/traces/${traceIds[index]}`)
  }
  const settings = `/api/projects/${org.project.id}`
  await owner.patch(settings, { retentionDays: 30, retainReviewed: false })
  hour += 2 * RETENTION_PASS_MS
  await sweep(bindings, hour)
  await owner.patch(settings, { retentionDays: null })
  const purged = drawn.fates.flatMap(({ isPurged }, index) => (isPurged ? [traceIds[index]] : []))
  const { results } = await env.DB.prepare(
    'select key from traces where deleted_at is not null and id in (select value from json_each(?))',
  )
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
  return { org, versionId }
}

/** Reads a list with a review filter to its end. */
async function listed({ read }: Org, filters: Record<string, string | null>) {
  const query = new URLSearchParams({ projectSlug: 'support', limit: '2', payloads: 'preview' })
  for (const [name, value] of Object.entries(filters)) if (value !== null) query.set(name, value)
  const { body, status } = await read.get(`/api/spans?${query}`)
  if (status !== 200) throw new Error(`${query}: ${status}`)
  const spans = [...body.spans]
  for (let cursor = body.nextCursor; cursor !== null; ) {
    const next = (await read.get(`/api/spans?${query}&cursor=${cursor}`)).body
    if ('expired' in next) throw new Error('a later page has expired')
    spans.push(...next.spans)
    cursor = next.nextCursor
  }
  return { spans, expired: body.expired }
}

describe('spans listed by decision', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('are the ones that insights count, apart from those that expired', {
    timeout: 120_000 * THOROUGHNESS,
  }, async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const property = fc.asyncProperty(scenario, async drawn => {
      const { org, versionId } = await play(drawn)
      const { body } = await org.read.get('/api/insights?projectSlug=support')
      const window = { reviewedFrom: body.from, reviewedTo: body.to }
      const mustMatch = async (what: string, filters: Record<string, string | null>, figure: number) => {
        const { spans, expired } = await listed(org, filters)
        const ids = new Set(spans.map(({ id }) => id))
        if (spans.length + expired !== figure || ids.size !== spans.length || expired < 0) {
          throw new Error(
            `${what}: ${spans.length} listed, ${ids.size} distinct, ${expired} expired, ${figure} counted`,
          )
        }
        for (const { stepId, promptVersionId, review } of spans) {
          const isRight =
            (!filters.stepId || stepId === filters.stepId) &&
            (!filters.promptVersionId || (promptVersionId ?? 'none') === filters.promptVersionId) &&
            (!filters.errorType || review.errorType === filters.errorType) &&
            (!filters.reviewerId || review.by === filters.reviewerId) &&
            (!filters.decision || review.state === { accept: 'accepted', correct: 'corrected' }[filters.decision])
          if (!isRight) throw new Error(`${what} lists another decision's span`)
        }
        return expired
      }
      let decided = 0
      for (const { stepId, accepted, corrected } of body.steps) {
        decided += accepted + corrected
        await mustMatch('step', { ...window, stepId, decision: 'accept' }, accepted)
        await mustMatch('step', { ...window, stepId, decision: 'correct' }, corrected)
      }
      await mustMatch('all', window, decided)
      for (const { day, stepId, promptVersionId, accepted, corrected } of body.days) {
        const noon = `${day}T12:00:00.000Z`
        const on = { stepId, promptVersionId: promptVersionId ?? 'none', reviewedFrom: noon, reviewedTo: noon }
        await mustMatch('version', { ...on, decision: 'accept' }, accepted)
        await mustMatch('version', { ...on, decision: 'correct' }, corrected)
      }
      for (const { errorType, stepId, source, count } of body.errorTypes) {
        if (source === 'review') await mustMatch('error type', { ...window, errorType, stepId }, count)
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
    })
    await fc.assert(property, { numRuns: 40 * THOROUGHNESS, interruptAfterTimeLimit: 100_000 * THOROUGHNESS })
  })
})
