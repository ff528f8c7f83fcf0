import { describe, it } from 'vitest'
import { problemUuid } from '../../src/domain/ids.ts'
import { findProblem } from '../../src/store/problems/problem-ids.ts'
import { storeOf } from '../support/attribution.ts'
import { newOrg } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

const CORRECTION = { decision: 'correct', approvedOutput: '24 months' }
const LIST = '/api/problems?projectSlug=support'

describe('GET /api/problems', () => {
  it('counts a correction once, under the reviewed step and the type that the reviewer named', async ({ expect }) => {
    const { org, review, spanId } = await newReviewed('12 months')
    await review({ ...CORRECTION, errorType: 'reasoning_error' })
    const { body } = await org.owner.get(LIST)
    const key = { stepId: 'support-answer', errorType: 'reasoning_error', docSlug: '' }
    expect(body).toEqual({
      problems: [
        {
          id: await problemUuid(org.project.id, key),
          stepId: 'support-answer',
          errorType: 'reasoning_error',
          docSlug: null,
          count: 1,
          byReviewers: 1,
          byEngine: 0,
          share: 1,
          trend: 1,
          lastAt: expect.any(String),
          examples: [spanId],
          state: 'open',
          assignee: null,
          candidate: null,
          proof: null,
          watch: null,
          note: null,
        },
      ],
      nextCursor: null,
    })
    await review({ ...CORRECTION, errorType: 'hallucinated_content' })
    expect((await org.owner.get(LIST)).body.problems).toMatchObject([{ errorType: 'hallucinated_content', count: 1 }])
    await review({ decision: 'reset' })
    expect((await org.owner.get(LIST)).body.problems).toEqual([])
  })

  it('returns no type if nobody named one', async ({ expect }) => {
    const { org, review } = await newReviewed('12 months')
    await review(CORRECTION)
    const { body } = await org.owner.get(LIST)
    expect(body.problems).toMatchObject([{ errorType: null, docSlug: null, byReviewers: 1, byEngine: 0 }])
  })
})

describe('a problem', () => {
  it('is found by its id under either name of its step', async ({ expect }) => {
    const { org, review } = await newReviewed('12 months')
    await review(CORRECTION)
    const store = await storeOf(org)
    const idOf = (stepId: string) => problemUuid(org.project.id, { stepId, errorType: '', docSlug: '' })
    const [old, renamed] = [await idOf('support-answer'), await idOf('answer')]
    expect(await findProblem(store, old)).toMatchObject({ id: old, stepId: 'support-answer' })
    expect(await findProblem(store, renamed)).toBeUndefined()
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { 'support-answer': 'answer' } })
    for (const id of [old, renamed])
      expect(await findProblem(store, id)).toMatchObject({ id: renamed, stepId: 'answer' })
    expect((await org.owner.get(LIST)).body.problems).toMatchObject([{ id: renamed, stepId: 'answer', count: 1 }])
    expect(await findProblem(await storeOf(await newOrg()), old)).toBeUndefined()
  })
})
