import * as fc from 'fast-check'
import { afterEach, describe, inject, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { DAY_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { jobPlace, stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * Reviewers decide on the same spans over several days, one by one and in bulk, while the spans change their steps.
 * Some responses from the database are lost, so some batches run twice. The stored counts must still equal a fresh
 * count over all current decisions.
 */

const STEPS = ['classify', 'answer'] as const
/** How the steps may be renamed before the counts are read. */
const STEP_NAMES: readonly Readonly<Record<string, string>>[] = [
  {},
  { classify: 'answer' },
  { answer: 'classify' },
  { classify: 'merged', answer: 'merged' },
  { 'support-answer': 'answer' },
]
const ERROR_TYPES = [undefined, 'reasoning_error', 'system_failure'] as const

const act = fc.record({
  kind: fc.constantFrom('accept', 'correct', 'reset', 'move'),
  reviewer: fc.nat(1),
  /** The spans that are reviewed in one call. */
  spans: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 4 }),
  value: fc.nat(2),
  errorType: fc.nat(ERROR_TYPES.length - 1),
  step: fc.nat(STEPS.length - 1),
})

/** Rounds of concurrent acts, one day apart. */
const scenario = fc.record({
  rounds: fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
  /** The index of the D1 call whose response is lost. */
  lost: fc.option(fc.nat(20), { nil: null }),
  names: fc.constantFrom(...STEP_NAMES),
})
type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never

/** Bindings whose D1 calls overtake each other. One call takes effect, but its response is lost. */
function unsteady({ delays, lost }: Scenario): Env {
  let calls = 0
  return wrapBindings(async (binding, call) => {
    if (binding !== 'DB') return call()
    const place = calls++
    for (let turns = delays[place % delays.length] ?? 0; turns > 0; turns--) await scheduler.wait(0)
    const result = await call()
    if (place === lost) throw new Error('D1_ERROR: Network connection lost.')
    return result
  })
}

async function play(drawn: Scenario): Promise<Org> {
  const start = Date.parse('2026-11-10T22:00:00.000Z')
  vi.setSystemTime(start)
  const org = await newOrg()
  const prompt = { projectSlug: 'support', stepId: 'answer', content: 'Answer.' }
  const { versionId } = (await org.owner.post('/api/prompts', prompt)).body
  const fixture = await newReviewed('Yes', org)
  const spanIds = [fixture.spanId, ...Array.from({ length: 3 }, () => crypto.randomUUID())]
  for (const [index, span_id] of spanIds.slice(1).entries()) {
    await fixture.step({ span_id, step_id: STEPS[0], ...(index > 0 && { prompt_version_id: versionId }) })
  }
  const keys = [(await reviewerOf(org)).key, (await reviewerOf(org)).key]
  const bindings = unsteady(drawn)
  for (const [day, round] of drawn.rounds.entries()) {
    vi.setSystemTime(start + day * DAY_MS)
    await Promise.all(
      round.map(async ({ kind, reviewer, spans, value, errorType, step }) => {
        const ids = spans.map(index => spanIds[index] ?? '')
        if (kind === 'move') {
          const span = { span_id: ids[0], step_id: STEPS[step], prompt_version_id: versionId }
          if (ids[0] !== fixture.spanId) await fixture.step(span)
          return
        }
        const review = {
          decision: kind,
          comment: crypto.randomUUID(),
          errorType: ERROR_TYPES[errorType],
          ...(kind === 'correct' && { approvedOutput: value }),
        }
        const by = client({ 'x-api-key': keys[reviewer] ?? '' }, bindings)
        if (ids.length === 1) await by.put(`/api/spans/${ids[0]}/review`, review)
        else await by.post('/api/reviews', { reviews: ids.map(spanId => ({ spanId, ...review })) })
      }),
    )
  }
  return org
}

const countedDays = `select day, step_id, prompt_version_id, user_id, error_type, accepted, corrected from review_days
  where project_key = (select key from projects where id = ?) and (accepted <> 0 or corrected <> 0) order by 1, 2, 3, 4, 5`

const inForce = `select r.created_at / ${DAY_MS} as day, r.step_id, r.prompt_version_id, r.user_id,
    coalesce(r.error_type, '') as error_type, sum(r.state = 'accepted') as accepted, sum(r.state = 'corrected') as corrected
  from spans s join reviews r on r.trace_key = s.trace_key and r.span_id = s.id and r.number = s.review_number
  where r.state is not null and r.project_key = (select key from projects where id = ?)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`

const rowsOf = async (query: string, { project }: Org) => (await stored.prepare(query).bind(project.id).all()).results

/** Sums the counts of the rows that have the same key. */
function sumsBy<Row extends object>(rows: readonly Row[], keyOf: (row: Row) => string, countOf: (row: Row) => number) {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + countOf(row))
  return Object.fromEntries([...sums].filter(([, sum]) => sum > 0).toSorted())
}

function mustEqual(what: string, found: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)]
  if (left !== right) throw new Error(`${what}: ${left}, expected ${right}`)
}

interface Counted {
  day: number
  step_id: string
  prompt_version_id: string
  user_id: string
  error_type: string
  accepted: number
  corrected: number
}

describe('insights', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('count the current decisions, even if decisions are replaced and calls are concurrent or repeated', {
    timeout: 120_000 * THOROUGHNESS,
  }, async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const property = fc.asyncProperty(scenario, async drawn => {
      const org = await play(drawn)
      const counted = await rowsOf(countedDays, org)
      mustEqual('the counts', counted, await rowsOf(inForce, org))
      await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: drawn.names })
      const shown = (stepId: string) => drawn.names[stepId] ?? stepId
      const { body } = await org.read.get('/api/insights?projectSlug=support')
      const rows = counted as unknown as Counted[]
      const decided = (row: { accepted: number; corrected: number }) => row.accepted + row.corrected
      type Step = { stepId: string; accepted: number; corrected: number }
      mustEqual(
        'steps',
        sumsBy(body.steps as Step[], ({ stepId }) => stepId, decided),
        sumsBy(rows, row => shown(row.step_id), decided),
      )
      mustEqual('steps listed twice', body.steps.length, new Set((body.steps as Step[]).map(step => step.stepId)).size)
      type Day = Step & { day: string; promptVersionId: string | null }
      mustEqual(
        'days',
        sumsBy(body.days as Day[], row => `${Date.parse(row.day) / DAY_MS} ${row.promptVersionId ?? ''}`, decided),
        sumsBy(rows, row => `${row.day} ${row.prompt_version_id}`, decided),
      )
      mustEqual(
        'error types',
        sumsBy(
          body.errorTypes as { errorType: string; stepId: string; count: number }[],
          row => `${row.errorType} ${row.stepId}`,
          ({ count }) => count,
        ),
        sumsBy(
          rows.filter(row => row.error_type !== ''),
          row => `${row.error_type} ${shown(row.step_id)}`,
          decided,
        ),
      )
      type Reviewer = { userId: string; days: { reviewed: number }[] }
      mustEqual(
        'reviewers',
        sumsBy(
          body.reviewers as Reviewer[],
          ({ userId }) => userId,
          ({ days }) => days.reduce((sum, { reviewed }) => sum + reviewed, 0),
        ),
        sumsBy(rows, row => row.user_id, decided),
      )
      const [prompt] = (await org.read.get('/api/prompts?projectSlug=support')).body.prompts
      const { versions } = (await org.read.get(`/api/prompts/${prompt.id}`)).body
      mustEqual(
        "the version's",
        decided(versions[0]),
        rows.filter(row => row.prompt_version_id === prompt.versionId).reduce((sum, row) => sum + decided(row), 0),
      )
      // Deleting the trace removes its counts, even if the purge is repeated.
      const { traces } = (await org.read.get('/api/traces?projectSlug=support')).body
      const keys = await stored
        .prepare('select key as traceKey, organization_key as organizationKey from traces where id = ?')
        .bind(traces[0].id)
        .first<{ traceKey: number; organizationKey: number }>()
      await org.owner.delete(`/api/traces/${traces[0].id}`)
      const job = { traceKey: 0, organizationKey: 0, ...keys, ...(await jobPlace(keys?.traceKey)) }
      const purge = () => runJob({ kind: 'purge_trace', ...job }, unsteady(drawn))
      await Promise.all([purge(), purge()].map(purged => purged.catch(() => undefined)))
      await purge()
      mustEqual('the remaining counts', await rowsOf(countedDays, org), [])
    })
    await fc.assert(property, {
      numRuns: THOROUGHNESS === 1 ? 20 : 60 * THOROUGHNESS,
      interruptAfterTimeLimit: 100_000 * THOROUGHNESS,
    })
  })
})
