import { describe, it, vi } from 'vitest'
import { MAX_COMPARED_DECISIONS } from '../../src/limits.ts'
import { putAnswer } from '../support/attributions.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { manyTraces } from '../support/traces.ts'

const qualityOf = async ({ read }: Org, query = '') =>
  (await read.get(`/api/attribution-quality?projectSlug=support${query}`)).body

/** Creates a trace with an answer from the rules and a review with an error type. */
async function newCompared(org: Org, engineType: string, reviewerType: string, confidence = 0.5) {
  const reviewed = await newReviewed('Yes', org)
  await putAnswer(reviewed.id, { errorType: engineType, confidence })
  await reviewed.review({ decision: 'accept', errorType: reviewerType })
  return reviewed
}

describe('attribution quality', () => {
  it('compares the last answer on each trace with the reviewers’ error type', async ({ expect }) => {
    const org = await newOrg()
    expect(await qualityOf(org)).toMatchObject({ reviewed: 0, reviewedIsMinimum: false, kappa: { errorType: null } })
    await newCompared(org, 'reasoning_error', 'reasoning_error', 0.85)
    await newCompared(org, 'reasoning_error', 'system_failure', 0.85)
    await newCompared(org, 'system_failure', 'system_failure', 1)
    await newCompared(org, 'system_failure', 'reviewer_mistake', 0.05)
    // 2 of 4 types agree, and chance agreement is (2 × 1 + 2 × 2) / 16. For categories, 3 of 4 agree, and chance
    // agreement is 4 × 3 / 16.
    expect(await qualityOf(org)).toMatchObject({
      reviewed: 4,
      reviewedIsMinimum: false,
      agreement: { errorType: 0.5, category: 0.75 },
      kappa: { errorType: (0.5 - 6 / 16) / (1 - 6 / 16), category: 0 },
      errorTypes: [
        { errorType: 'reasoning_error', answered: 2, agreed: 1, precision: 0.5 },
        { errorType: 'system_failure', overruled: [{ errorType: 'reviewer_mistake', count: 1 }] },
      ],
      engines: [{ engine: 'rules', version: '2', reviewed: 4, agreed: 2 }],
    })
    const { calibration } = await qualityOf(org)
    expect(calibration.map(({ count }: { count: number }) => count)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 2, 1])
    expect(calibration[8]).toMatchObject({
      from: 0.8,
      to: 0.9,
      count: 2,
      agreed: 1,
      meanConfidence: 0.85,
      agreement: 0.5,
    })
  })

  it('skips decisions without an answer or a type, and those that are withdrawn, deleted, or foreign', async ({
    expect,
  }) => {
    const org = await newOrg()
    const unanswered = await newReviewed('Yes', org)
    await unanswered.review({ decision: 'accept', errorType: 'reasoning_error' })
    const unnamed = await newReviewed('Yes', org)
    await putAnswer(unnamed.id)
    await unnamed.review({ decision: 'accept' })
    const withdrawn = await newCompared(org, 'reasoning_error', 'reasoning_error')
    await withdrawn.review({ decision: 'reset' })
    const changed = await newCompared(org, 'reasoning_error', 'reasoning_error')
    await changed.review({ decision: 'correct', approvedOutput: 'No' })
    const deleted = await newCompared(org, 'reasoning_error', 'reasoning_error')
    await org.owner.delete(`/api/traces/${deleted.id}`)
    await newCompared(await newOrg(), 'reasoning_error', 'reasoning_error')
    expect((await qualityOf(org)).reviewed).toBe(0)
  })

  it('counts each trace once, with its last answer and its newest decision with a type', async ({ expect }) => {
    const org = await newOrg()
    const start = Date.now()
    const { id, step, review } = await newReviewed('Yes', org)
    const second = crypto.randomUUID()
    await step({ span_id: second })
    await putAnswer(id, { errorType: 'reasoning_error', engine: 'a-model' })
    await putAnswer(id, { errorType: 'system_failure' })
    vi.useFakeTimers({ toFake: ['Date'], now: start + 1000 })
    await org.owner.put(`/api/spans/${second}/review`, { decision: 'accept', errorType: 'system_failure' })
    vi.useFakeTimers({ toFake: ['Date'], now: start + 2000 })
    await review({ decision: 'accept', errorType: 'reasoning_error' })
    vi.useRealTimers()
    const overruled = [{ errorType: 'reasoning_error', count: 1 }]
    expect(await qualityOf(org)).toMatchObject({
      reviewed: 1,
      errorTypes: [{ errorType: 'system_failure', agreed: 0, overruled }],
      engines: [{ engine: 'rules', reviewed: 1 }],
    })
    // The engine filter uses that engine's own last answer.
    expect(await qualityOf(org, '&engine=a-model')).toMatchObject({
      reviewed: 1,
      agreement: { errorType: 1 },
      engines: [{ engine: 'a-model', reviewed: 1 }],
    })
    expect((await qualityOf(org, '&engine=none')).reviewed).toBe(0)
    const between = (from: number, to: number) =>
      qualityOf(org, `&from=${new Date(start + from).toISOString()}&to=${new Date(start + to).toISOString()}`)
    expect(await between(1000, 2000)).toMatchObject({ reviewed: 1, agreement: { errorType: 1 } })
    expect(await between(1001, 2001)).toMatchObject({ reviewed: 1, agreement: { errorType: 0 } })
    expect(await between(1001, 2000)).toMatchObject({ reviewed: 0 })
  })

  it('compares the versions of an engine', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newCompared(org, 'reasoning_error', 'system_failure')
    await newCompared(org, 'reasoning_error', 'reasoning_error')
    await putAnswer(id, { errorType: 'system_failure', engineVersion: '3' })
    const { engines } = await qualityOf(org)
    expect(engines).toMatchObject([
      { engine: 'rules', version: '2', reviewed: 1, agreed: 1 },
      { engine: 'rules', version: '3', reviewed: 1, agreed: 1 },
    ])
    // The filter uses that version's own last answer.
    expect(await qualityOf(org, '&engine=rules&engineVersion=2')).toMatchObject({ reviewed: 2, agreed: 1 })
  })

  it('uses the categories of custom types', async ({ expect }) => {
    const org = await newOrg()
    const own = { name: 'Late delivery', category: 'AI Error', rule: 'Too late.' }
    await org.owner.put(`/api/projects/${org.project.id}/error-types/late_delivery`, own)
    await newCompared(org, 'reasoning_error', 'late_delivery')
    expect((await qualityOf(org)).agreement).toEqual({ errorType: 0, category: 1 })
  })

  it.for([
    ['no project', '', 400],
    ['a project that does not exist', '?projectSlug=none', 404],
    ['an invalid time', '?projectSlug=support&from=yesterday', 400],
    ['an unknown parameter', '?projectSlug=support&errorType=x', 400],
  ] as const)('rejects %s', async ([, query, status], { expect }) => {
    const org = await newOrg()
    expect((await org.read.get(`/api/attribution-quality${query}`)).status).toBe(status)
  })

  it('reads only a limited number of the newest decisions, and reports that it left some out', {
    timeout: 30_000,
  }, async ({ expect }) => {
    const org = await newOrg()
    const count = MAX_COMPARED_DECISIONS + 100
    const ids = await manyTraces(org, count, () => ({ name: 'run', fields: {} }))
    await stored.batch([
      stored
        .prepare(
          `insert into reviews (trace_key, span_id, number, id, project_key, decision, state, user_id, created_at,
           output_revision, output_hash, error_type)
         select key, root_span_id, 1, id, project_key, 'accept', 'accepted', id, timestamp, '', '', 'reasoning_error'
         from traces where project_key = (select key from projects where id = ?)`,
        )
        .bind(org.project.id),
      stored
        .prepare(
          `update spans set review_number = 1, review_state = 'accepted' where id in (
           select root_span_id from traces where project_key = (select key from projects where id = ?))`,
        )
        .bind(org.project.id),
      stored
        .prepare(
          `insert into attributions (trace_key, number, id, project_key, created_at, error_type, confidence, reasoning,
           alternatives, evidence, engine, duration_ms)
         select key, 1, id, project_key, 0, iif(id = ?2, 'system_failure', 'reasoning_error'), 0.5, '', '[]', '[]',
           'rules', 0
         from traces where project_key = (select key from projects where id = ?1)`,
        )
        .bind(org.project.id, ids.at(-1)),
    ])
    const path = '/api/attribution-quality?projectSlug=support'
    const { body } = await org.read.get(path)
    expect(body).toMatchObject({ reviewed: MAX_COMPARED_DECISIONS, reviewedIsMinimum: true })
    // The oldest decision disagrees, but it's past the limit.
    expect(body.agreement.errorType).toBe(1)
    const rows = await rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get(path))
    // For each decision, the query reads its row and index entry, its span and trace, the answer twice, and the row of
    // its group.
    expect(rows).toBeLessThan(12 * MAX_COMPARED_DECISIONS)
  })
})

describe('the answers behind the attribution quality', () => {
  const answersTo = async ({ read }: Org, query: string) => {
    const { status, body } = await read.get(`/api/attribution-quality/answers?projectSlug=support${query}`)
    return status === 200 ? body.answers : status
  }

  it('are exactly as many as each figure counts', async ({ expect }) => {
    const org = await newOrg()
    await newCompared(org, 'reasoning_error', 'reasoning_error', 0.85)
    await newCompared(org, 'reasoning_error', 'system_failure', 0.85)
    await newCompared(org, 'reasoning_error', 'system_failure', 1)
    await newCompared(org, 'system_failure', 'reviewer_mistake', 0.05)
    const { id } = await newCompared(org, 'system_failure', 'system_failure', 0.7)
    await putAnswer(id, { errorType: 'reviewer_mistake', engineVersion: '3', confidence: 0.9 })
    for (const filters of ['', '&engineVersion=2', '&engineVersion=3', '&engine=a-model']) {
      const quality = await qualityOf(org, filters)
      expect(await answersTo(org, filters)).toHaveLength(quality.reviewed)
      expect(await answersTo(org, `${filters}&agrees=true`)).toHaveLength(quality.agreed)
      expect(await answersTo(org, `${filters}&agrees=false`)).toHaveLength(quality.reviewed - quality.agreed)
      for (const { errorType, answered, agreed, overruled } of quality.errorTypes) {
        expect(await answersTo(org, `${filters}&errorType=${errorType}`)).toHaveLength(answered)
        expect(await answersTo(org, `${filters}&errorType=${errorType}&agrees=true`)).toHaveLength(agreed)
        for (const { errorType: named, count } of overruled) {
          expect(await answersTo(org, `${filters}&errorType=${errorType}&reviewedErrorType=${named}`)).toHaveLength(
            count,
          )
        }
      }
      for (const [tenth, { count, agreed }] of quality.calibration.entries()) {
        expect(await answersTo(org, `${filters}&tenth=${tenth}`)).toHaveLength(count)
        expect(await answersTo(org, `${filters}&tenth=${tenth}&agrees=true`)).toHaveLength(agreed)
      }
    }
  })

  it('are listed in pages, with the newest review first', async ({ expect }) => {
    const org = await newOrg()
    const made: { id: string; spanId: string }[] = []
    for (const type of ['reasoning_error', 'system_failure', 'reviewer_mistake']) {
      made.unshift(await newCompared(org, 'reasoning_error', type))
    }
    const first = (await org.read.get('/api/attribution-quality/answers?projectSlug=support&limit=2')).body
    const second = (
      await org.read.get(`/api/attribution-quality/answers?projectSlug=support&limit=2&cursor=${first.nextCursor}`)
    ).body
    const all = [...first.answers, ...second.answers]
    expect(new Set(all.map(({ spanId }) => spanId))).toEqual(new Set(made.map(({ spanId }) => spanId)))
    expect(all.map(({ reviewedAt }) => reviewedAt)).toEqual(
      all
        .map(({ reviewedAt }) => reviewedAt)
        .toSorted()
        .toReversed(),
    )
    expect(second.nextCursor).toBeNull()
    expect(all.find(({ traceId }) => traceId === made[0]?.id)).toMatchObject({
      errorType: 'reasoning_error',
      reviewedErrorType: 'reviewer_mistake',
      confidence: 0.5,
      engine: 'rules',
      engineVersion: '2',
    })
  })

  it('show the new names of renamed steps', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newCompared(org, 'reasoning_error', 'system_failure')
    const stepId: string = (await org.read.get(`/api/traces/${id}`)).body.spans[0].stepId
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { [stepId]: 'renamed' } })
    expect(await answersTo(org, '')).toMatchObject([{ stepId: 'renamed' }])
  })

  it.for([
    ['made at the same time', '2026-01-05', '2026-01-05'],
    ['made long ago', '2000-01-05', '2026-01-05'],
  ] as const)(
    'have the error type that the trace shows, even for decisions %s',
    async ([, first, then], { expect }) => {
      const org = await newOrg()
      await reviewerOf(org, 'ada@example.com')
      // Ids are random, so several traces cover both orders.
      for (let made = 0; made < 4; made++) {
        const { id, trace_id, spanId, step } = await newReviewed('Yes', org)
        const second = crypto.randomUUID()
        await step({ span_id: second, output: 'Maybe' })
        await putAnswer(id)
        const reviews = [spanId, second].map((spanId, index) => ({
          spanId,
          decision: 'accept',
          errorType: index === 0 ? 'system_failure' : 'reasoning_error',
          source: 'import',
          by: 'ada@example.com',
          at: `${index === 0 ? first : then}T00:00:00.000Z`,
        }))
        expect((await org.owner.post('/api/reviews', { reviews })).body.results).toMatchObject([
          { status: 200 },
          { status: 200 },
        ])
        const { body } = await org.ingest.get(`/api/v1/traces/${trace_id}/attribution`)
        const { traces } = (await org.read.get('/api/traces?projectSlug=support')).body
        const listed = traces.find((trace: { id: string }) => trace.id === id)
        const answer = (await answersTo(org, '')).find(({ traceId }: { traceId: string }) => traceId === id)
        expect([listed.errorType, answer.reviewedErrorType]).toEqual([body.error_type, body.error_type])
      }
    },
  )

  it('leave out deleted traces and withdrawn reviews', async ({ expect }) => {
    const org = await newOrg()
    const deleted = await newCompared(org, 'reasoning_error', 'reasoning_error')
    const withdrawn = await newCompared(org, 'reasoning_error', 'reasoning_error')
    expect(await answersTo(org, '')).toHaveLength(2)
    await org.owner.delete(`/api/traces/${deleted.id}`)
    await withdrawn.review({ decision: 'reset' })
    expect(await answersTo(org, '')).toEqual([])
  })

  it.for(['&tenth=10', '&agrees=yes', '&limit=0'])('rejects %s', async (query, { expect }) => {
    expect(await answersTo(await newOrg(), query)).toBe(400)
  })
})
