import { describe, it, vi } from 'vitest'
import { putAnswer } from '../support/attributions.ts'
import { stored } from '../support/database.ts'
import { type ApiResponse, client, newOrg } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'

/**
 * Creates a reviewed trace. Its history contains an answer, reviews of two spans, and another answer, each a second
 * apart.
 */
async function newHistory() {
  const reviewed = await newReviewed({ answer: 'Yes' })
  const { org, id, spanId, review, step } = reviewed
  const secondSpanId = crypto.randomUUID()
  await step({ span_id: secondSpanId, output: 'Maybe' })
  const start = Date.now()
  const at = (second: number) => {
    vi.useFakeTimers({ toFake: ['Date'], now: start + 1000 * second })
    return new Date(start + 1000 * second).toISOString()
  }
  const first = await putAnswer(id, { createdAt: at(0), spanId })
  const ada = await reviewerOf(org)
  at(1)
  await review({ decision: 'accept', errorType: 'acceptable_variation', comment: 'Fine' }, {}, ada.client)
  at(2)
  // This review has no error type, so it isn't part of the history.
  await review({ decision: 'accept' })
  at(3)
  const path = `/api/spans/${secondSpanId}/review`
  await org.owner.put(path, { decision: 'correct', approvedOutput: 'No', errorType: 'reviewer_mistake' })
  const usage = { inputTokens: 900, outputTokens: 70, costUsd: 0.002 }
  const second = await putAnswer(id, { createdAt: at(4), errorType: 'system_failure', engine: 'a-model', ...usage })
  vi.useRealTimers()
  const list = (query = ''): Promise<ApiResponse> => org.read.get(`/api/traces/${id}/attributions${query}`)
  return { ...reviewed, ada, secondSpanId, answers: [first, second], usage, list, start }
}

describe('the attributions on a trace', () => {
  it("list the engines' answers and the reviews with an error type, oldest first", async ({ expect }) => {
    const { list, answers, spanId, secondSpanId, ada, usage, start } = await newHistory()
    const { status, body } = await list()
    expect(status).toBe(200)
    const at = (second: number) => new Date(start + 1000 * second).toISOString()
    expect(body).toEqual({
      attributions: [
        {
          kind: 'engine',
          id: answers[0],
          errorType: 'reasoning_error',
          errorTypeId: '04980ad2-af3f-585d-b08d-a9819edffa04',
          errorTypeName: 'Reasoning error',
          errorTypeCategory: 'AI Error',
          createdAt: at(0),
          confidence: 0.5,
          spanId,
          reasoning: 'Because.',
          alternatives: [{ errorType: 'system_failure', confidence: 0.2 }],
          evidence: [{ spanId, path: 'output', note: 'It says no.' }],
          docSlug: null,
          engine: 'rules',
          engineVersion: '2',
          durationMs: 12,
          usage: null,
        },
        {
          kind: 'review',
          reviewId: expect.any(String),
          spanId,
          errorType: 'acceptable_variation',
          errorTypeId: '041f6b93-d04f-51ae-8bab-0b2e73a4a310',
          errorTypeName: 'Acceptable variation',
          errorTypeCategory: 'Human Error',
          createdAt: at(1),
          by: ada.userId,
          comment: 'Fine',
          confidence: null,
          reasoning: 'Fine',
          alternatives: [],
          evidence: [{ spanId, path: 'review', note: 'names "Acceptable variation" as the cause' }],
          // A later decision on the span has no error type.
          inForce: false,
        },
        expect.objectContaining({
          kind: 'review',
          spanId: secondSpanId,
          errorType: 'reviewer_mistake',
          comment: null,
          inForce: true,
        }),
        expect.objectContaining({ kind: 'engine', id: answers[1], engine: 'a-model', spanId: null, usage }),
      ],
      nextCursor: null,
    })
  })

  it('are paged without gaps or duplicates', async ({ expect }) => {
    const { id, list, start } = await newHistory()
    for (let index = 0; index < 3; index++) {
      await putAnswer(id, { createdAt: new Date(start + 1000).toISOString(), confidence: index / 10 })
    }
    const all = (await list()).body.attributions
    expect(all).toHaveLength(7)
    for (const limit of [1, 2, 3, 6, 7]) {
      const listed: unknown[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body }: ApiResponse = await list(`?limit=${limit}${cursor && `&cursor=${cursor}`}`)
        expect(body.attributions.length).toBeLessThanOrEqual(limit)
        listed.push(...body.attributions)
        cursor = body.nextCursor
      }
      expect(listed).toEqual(all)
    }
  })

  it('are an empty list if there are no answers or reviews, and include no current one after a reset', async ({
    expect,
  }) => {
    const { org, id, review } = await newReviewed('Yes')
    const list = async () => (await org.read.get(`/api/traces/${id}/attributions`)).body.attributions
    expect(await list()).toEqual([])
    await review({ decision: 'accept', errorType: 'reviewer_mistake' })
    expect(await list()).toMatchObject([{ inForce: true }])
    await review({ decision: 'reset' })
    expect(await list()).toMatchObject([{ inForce: false }])
  })

  it('keep the names of custom types, even after they are disabled', async ({ expect }) => {
    const { org, id, review } = await newReviewed('Yes')
    const path = `/api/projects/${org.project.id}/error-types/late_delivery`
    const own = { name: 'Late delivery', category: 'Human Error', rule: 'Too late.' }
    const { body: type } = await org.owner.put(path, own)
    await review({ decision: 'accept', errorType: 'late_delivery' })
    await org.owner.put(path, { ...own, isEnabled: false })
    expect((await org.read.get(`/api/traces/${id}/attributions`)).body.attributions).toMatchObject([
      { errorType: 'late_delivery', errorTypeId: type.id, errorTypeName: own.name, errorTypeCategory: own.category },
    ])
  })

  it('are still readable after an error type is removed', async ({ expect }) => {
    const { org, id, review } = await newReviewed('Yes')
    await review({ decision: 'accept', errorType: 'reviewer_mistake' })
    await putAnswer(id, { errorType: 'phase_of_the_moon' })
    await stored
      .prepare(
        "update reviews set error_type = 'gremlins' where project_key = (select project_key from traces where id = ?)",
      )
      .bind(id)
      .run()
    const { status, body } = await org.read.get(`/api/traces/${id}/attributions`)
    expect(status).toBe(200)
    const unknown = { errorTypeId: null, errorTypeCategory: null }
    const attributions = body.attributions.toSorted((one: { kind: string }, other: { kind: string }) =>
      one.kind < other.kind ? -1 : 1,
    )
    expect(attributions).toMatchObject([
      { kind: 'engine', errorType: 'phase_of_the_moon', errorTypeName: 'phase_of_the_moon', ...unknown },
      { kind: 'review', errorType: 'gremlins', errorTypeName: 'gremlins', ...unknown },
    ])
  })

  it('belong only to their project, and are deleted with their trace', async ({ expect }) => {
    const { org, id, list } = await newHistory()
    const path = `/api/traces/${id}/attributions`
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const elsewhere = client({ 'x-api-key': await org.keyFor({ projectSlug: 'other' }) })
    expect((await elsewhere.get(path)).status).toBe(403)
    expect((await (await newOrg()).owner.get(path)).status).toBe(403)
    const { nextCursor } = (await list('?limit=1')).body
    const other = await newReviewed('Yes', org)
    expect((await org.read.get(`/api/traces/${other.id}/attributions?cursor=${nextCursor}`)).status).toBe(400)
    await org.owner.delete(`/api/traces/${id}`)
    expect((await list()).status).toBe(404)
  })
})

describe('the filter by error type', () => {
  it("uses the reviewers' type, and otherwise the engine's last answer", async ({ expect }) => {
    const org = await newOrg()
    const [attributed, reviewed, both, withdrawn] = [
      await newReviewed('1', org),
      await newReviewed('2', org),
      await newReviewed('3', org),
      await newReviewed('4', org),
    ]
    await putAnswer(attributed.id, { errorType: 'reasoning_error' })
    await putAnswer(attributed.id, { errorType: 'system_failure' })
    await attributed.review({ decision: 'accept' })
    await reviewed.review({ decision: 'accept', errorType: 'reasoning_error' })
    await putAnswer(both.id, { errorType: 'system_failure' })
    await both.review({ decision: 'accept', errorType: 'reviewer_mistake' })
    await putAnswer(withdrawn.id, { errorType: 'system_failure' })
    await withdrawn.review({ decision: 'accept', errorType: 'reviewer_mistake' })
    await withdrawn.review({ decision: 'reset' })
    const found = async (errorType: string) => {
      const { body } = await org.read.get(`/api/traces?projectSlug=support&errorType=${errorType}`)
      return body.traces.map(({ id }: { id: string }) => id).sort()
    }
    expect(await found('reasoning_error')).toEqual([reviewed.id])
    expect(await found('reviewer_mistake')).toEqual([both.id])
    expect(await found('system_failure')).toEqual([attributed.id, withdrawn.id].sort())
    expect(await found('nope')).toEqual([])
    const { body } = await org.read.get('/api/review-queue?projectSlug=support&errorType=system_failure')
    expect(body.spans.map(({ id }: { id: string }) => id)).toEqual([withdrawn.spanId])
    expect(body.remaining).toBe(1)
    // The last answer stays current while a new one is pending, and also if the new one fails.
    for (const status of ['pending', 'failed']) {
      await stored.prepare('update attribution_jobs set status = ? where error_type is not null').bind(status).run()
      expect(await found('system_failure'), status).toEqual([attributed.id, withdrawn.id].sort())
    }
  })
})
