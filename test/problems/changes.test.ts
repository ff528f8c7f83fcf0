import { describe, it } from 'vitest'
import { problemUuid } from '../../src/domain/ids.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'

const LIST = '/api/problems?projectSlug=support'

/** A problem with one case, a reviewer, and the step's prompt, which has an inactive version. */
async function newProblem(tenant?: Org) {
  const { org, review } = await newReviewed('12 months', tenant)
  await review({ decision: 'correct', approvedOutput: '24 months' })
  const ada = await reviewerOf(org)
  const draft = { projectSlug: 'support', stepId: 'support-answer', content: 'Answer.' }
  const prompt = (await org.owner.post('/api/prompts', draft)).body
  const version = (await org.owner.post(`/api/prompts/${prompt.id}/versions`, { content: 'Cite.', note: 'Cites' })).body
  const id = await problemUuid(org.project.id, { stepId: 'support-answer', errorType: '', docSlug: '' })
  const path = `/api/problems/${id}`
  const audited = async () =>
    (await org.owner.get('/api/audit-log?action=problem.change')).body.entries.map(
      ({ targetId, beforeId, afterId }: Record<string, unknown>) => ({ targetId, beforeId, afterId }),
    )
  return { org, ada, prompt, version, id, path, audited, list: async () => (await org.owner.get(LIST)).body.problems }
}

describe('PATCH /api/problems/{id}', () => {
  it('saves and audits the given fields once, no matter how many times it is sent', async ({ expect }) => {
    const { org, ada, version, prompt, id, path, audited, list } = await newProblem()
    const note = 'The doc is new.'
    const noted = await ada.client.patch(path, { note, assigneeId: ada.userId })
    expect(noted.status).toBe(200)
    expect(noted.body).toMatchObject({ id, note, assignee: ada.userId, state: 'open', count: 1 })
    expect((await ada.client.patch(path, { note })).body).toEqual(noted.body)
    const linked = await org.owner.patch(path, { candidateVersionId: version.id })
    const candidate = { promptId: prompt.id, versionId: version.id, number: 2, note: 'Cites', at: expect.any(String) }
    expect(linked.body).toMatchObject({ note, assignee: ada.userId, state: 'fixing', candidate })
    expect((await org.owner.patch(path, { candidateVersionId: version.id })).body).toEqual(linked.body)
    expect(await list()).toEqual([linked.body])
    const unlinked = await org.owner.patch(path, { candidateVersionId: null, assigneeId: null, note: null })
    expect(unlinked.body).toMatchObject({ note: null, assignee: null, state: 'open', candidate: null, proof: null })
    expect(await audited()).toEqual([
      { targetId: id, beforeId: version.id, afterId: null },
      { targetId: id, beforeId: null, afterId: version.id },
      { targetId: id, beforeId: null, afterId: null },
    ])
  })

  it('dismisses only with a note, which can’t be removed while the problem is dismissed', async ({ expect }) => {
    const { ada, path, list } = await newProblem()
    const refused = await ada.client.patch(path, { dismissed: true })
    expect([refused.status, refused.body.details]).toEqual([
      400,
      [{ path: 'note', message: 'is required to dismiss a problem' }],
    ])
    const note = 'Users accept it.'
    expect((await ada.client.patch(path, { dismissed: true, note })).body).toMatchObject({ state: 'dismissed', note })
    expect((await ada.client.patch(path, { note: null })).status).toBe(400)
    expect(await list()).toMatchObject([{ state: 'dismissed' }])
    expect((await ada.client.get(`${LIST}&state=dismissed`)).body.problems).toHaveLength(1)
    expect((await ada.client.get(`${LIST}&state=open`)).body.problems).toEqual([])
    expect((await ada.client.patch(path, { dismissed: false })).body).toMatchObject({ state: 'open', note })
  })

  it('needs the manage scope to change the candidate', async ({ expect }) => {
    const { ada, path, version } = await newProblem()
    const { status, body } = await ada.client.patch(path, { candidateVersionId: version.id })
    expect([status, body.details]).toEqual([
      403,
      [{ path: '', message: 'candidateVersionId requires the manage scope' }],
    ])
  })

  it.for([
    ['a user in another organization', 'assigneeId', async (_: Org, other: Org) => (await reviewerOf(other)).userId],
    ['an unknown user', 'assigneeId', async () => crypto.randomUUID()],
    [
      "another step's version",
      'candidateVersionId',
      async (org: Org) => {
        const prompt = { projectSlug: 'support', stepId: 'classify', content: 'x' }
        return (await org.owner.post('/api/prompts', prompt)).body.versionId
      },
    ],
    [
      "another organization's version",
      'candidateVersionId',
      async (_: Org, other: Org) => {
        const prompt = { projectSlug: 'support', stepId: 'support-answer', content: 'x' }
        return (await other.owner.post('/api/prompts', prompt)).body.versionId
      },
    ],
    [
      "a knowledge doc's version",
      'candidateVersionId',
      async (org: Org) => {
        const doc = { projectSlug: 'support', slug: 'support-answer', title: 'x', content: 'x' }
        return (await org.owner.post('/api/knowledge-docs', doc)).body.versionId
      },
    ],
  ] as const)('refuses %s', async ([, field, idOf], { expect }) => {
    const { org, path } = await newProblem()
    const { status, body } = await org.owner.patch(path, { [field]: await idOf(org, await newOrg()) })
    expect([status, body.details[0].path]).toEqual([422, field])
  })

  it("is limited to the key's project and organization", async ({ expect }) => {
    const { org, path } = await newProblem()
    await org.owner.patch(path, { note: 'Seen' })
    const spare = (await org.owner.post('/api/projects', { slug: 'spare', name: 'Spare' })).body
    const key = await org.keyFor({ projectSlug: spare.slug, scopes: ['read', 'review', 'manage'] })
    expect((await org.clientOf(key).patch(path, { note: 'x' })).status).toBe(403)
    expect((await (await newOrg()).owner.patch(path, { note: 'x' })).status).toBe(403)
    const own = await problemUuid(spare.id, { stepId: 'support-answer', errorType: '', docSlug: '' })
    expect((await org.owner.patch(`/api/problems/${own}`, { note: 'x' })).status).toBe(404)
    const list = (slug: string) => org.owner.get(`/api/problems?projectSlug=${slug}`)
    expect((await list('spare')).body.problems).toEqual([])
    expect((await list('support')).body.problems).toMatchObject([{ note: 'Seen' }])
  })

  it('keeps people’s decisions when the step is renamed, and forgets a deleted user and prompt', async ({ expect }) => {
    const { org, ada, path, version, prompt, id, list } = await newProblem()
    await org.owner.patch(path, { note: 'Seen', assigneeId: ada.userId, candidateVersionId: version.id })
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { 'support-answer': 'answer' } })
    const renamed = await problemUuid(org.project.id, { stepId: 'answer', errorType: '', docSlug: '' })
    expect(await list()).toMatchObject([{ id: renamed, stepId: 'answer', note: 'Seen', state: 'fixing' }])
    expect((await org.owner.patch(`/api/problems/${id}`, { note: 'Again' })).body).toMatchObject({ id: renamed })
    expect(await list()).toMatchObject([{ note: 'Again', assignee: ada.userId }])
    await org.owner.delete(`/api/users/${ada.userId}`)
    expect(await list()).toMatchObject([{ note: 'Again', assignee: null }])
    await org.owner.delete(`/api/prompts/${prompt.id}`)
    expect(await list()).toMatchObject([{ note: 'Again', state: 'open', candidate: null, proof: null }])
  })
})
