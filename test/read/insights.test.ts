import { describe, it } from 'vitest'
import { DAY_MS } from '../../src/limits.ts'
import { newOrg } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'

const today = () => new Date().toISOString().slice(0, 10)

describe('GET /api/insights', () => {
  it('answers the last 30 days of a project with nothing in it', async ({ expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get('/api/insights?projectSlug=support')
    const to = Date.parse(`${today()}T00:00:00.000Z`) + DAY_MS
    expect(status).toBe(200)
    expect(body).toEqual({
      from: new Date(to - 30 * DAY_MS).toISOString(),
      to: new Date(to).toISOString(),
      outputs: { total: 0, reviewed: 0, countedAt: null },
      steps: [],
      days: [],
      promptVersions: [],
      errorTypes: [],
      reviewers: [],
    })
  })

  it('counts decisions by step, day, prompt version, reviewer and error type', async ({ expect }) => {
    const org = await newOrg()
    const prompt = { projectSlug: 'support', stepId: 'generate-answer', content: 'Answer.' }
    const { id: promptId, versionId } = (await org.owner.post('/api/prompts', prompt)).body
    const made = await newReviewed('Yes', org)
    const spanIds = [crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of spanIds) {
      expect((await made.step({ span_id, prompt_version_id: versionId })).status).toBe(202)
    }
    const [ada, bob] = [await reviewerOf(org), await reviewerOf(org)]
    await made.review({ decision: 'accept' }, {}, ada.client)
    await ada.client.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    await bob.client.put(`/api/spans/${spanIds[1]}/review`, {
      decision: 'correct',
      approvedOutput: 'No',
      errorType: 'reasoning_error',
    })
    const day = today()
    const { body } = await org.read.get('/api/insights?projectSlug=support')
    expect(body.days).toEqual([
      { day, stepId: 'generate-answer', promptVersionId: versionId, accepted: 1, corrected: 1 },
      { day, stepId: 'support-answer', promptVersionId: null, accepted: 1, corrected: 0 },
    ])
    expect(body.steps).toEqual([
      { stepId: 'generate-answer', outputs: 0, reviewed: 0, accepted: 1, corrected: 1 },
      { stepId: 'support-answer', outputs: 0, reviewed: 0, accepted: 1, corrected: 0 },
    ])
    expect(body.promptVersions).toEqual([
      { id: versionId, promptId, stepId: 'generate-answer', number: 1, isActive: true },
    ])
    expect(body.errorTypes).toEqual([
      { errorType: 'reasoning_error', stepId: 'generate-answer', source: 'review', count: 1 },
    ])
    const reviewers = [
      { userId: ada.userId, name: 'Reviewer', days: [{ day, reviewed: 2 }] },
      { userId: bob.userId, name: 'Reviewer', days: [{ day, reviewed: 1 }] },
    ]
    expect(body.reviewers.toSorted((a: { days: { reviewed: number }[] }) => -(a.days[0]?.reviewed ?? 0))).toEqual(
      expect.arrayContaining(reviewers),
    )
  })

  it.for([
    ['a window that ends before it begins', 'from=2026-11-02T00:00:00.000Z&to=2026-11-02T00:00:00.000Z'],
    ['more than 366 days', 'from=2025-01-01T00:00:00.000Z&to=2026-01-02T00:00:00.001Z'],
  ] as const)('400s for %s', async ([, query], { expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get(`/api/insights?projectSlug=support&${query}`)
    expect(status).toBe(400)
    expect(body.details[0].path).toBe('from')
  })

  it.for([
    ['0000-01-01T00:00:00.000Z', '0000-01-03T05:00:00.000Z'],
    ['9999-12-30T12:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    ['2023-12-31T23:59:59.999Z', '2024-12-31T00:00:00.000Z'],
  ] as const)('takes %s to %s as whole days', async ([from, to], { expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get(`/api/insights?projectSlug=support&from=${from}&to=${to}`)
    expect(status).toBe(200)
    expect(body.from).toBe(`${from.slice(0, 10)}T00:00:00.000Z`)
  })
})
