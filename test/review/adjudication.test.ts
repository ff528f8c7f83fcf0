import { describe, it } from 'vitest'
import { aSpan, aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { type Client, newOrg } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

const STEP = 'generate-answer'

/** Creates a project with three answers, an adjudicator, and three people who each review every answer blind. */
async function newPanel() {
  const org = await newOrg()
  const policy = { steps: { [STEP]: { reviewers: 3, blind: true } } }
  expectStatus(await org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy), 200)
  const [ada, kofi, mei, grace] = await Promise.all([1, 2, 3, 4].map(() => reviewerOf(org)))
  if (!ada || !kofi || !mei || !grace) throw new Error('a reviewer is missing')
  expectStatus(await org.owner.patch(`/api/users/${grace.userId}`, { adjudicator: true }), 200)
  const spanIds: string[] = []
  for (const answer of ['24 months.', '30 days.', '5 euros.']) {
    const { trace_id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const span = aSpan({ trace_id, step_id: STEP, output: { answer } })
    expectStatus(await org.ingest.post('/api/v1/spans', span), 202)
    spanIds.push(span.span_id)
  }
  return { org, ada, kofi, mei, grace, spanIds }
}

function expectStatus({ status, body }: { status: number; body: unknown }, expected: number): void {
  if (status !== expected) throw new Error(`${status}: ${JSON.stringify(body)}`)
}

const QUEUE = '/api/review-queue?projectSlug=support'
const accept = { decision: 'accept' }
const correctTo = (answer: string) => ({ decision: 'correct', approvedOutput: { answer } })

describe('three people who review a step blind', () => {
  it('decide what they agree on, leave the rest to an adjudicator, and change the dataset once per output', async ({
    expect,
  }) => {
    const { org, ada, kofi, mei, grace, spanIds } = await newPanel()
    const [agreed = '', disputed = '', corrected = ''] = spanIds
    const vote = async (by: { client: Client }, spanId: string, body: object) => {
      const response = await by.client.put(`/api/spans/${spanId}/review`, body)
      expectStatus(response, 200)
      return response.body
    }
    /** Each change to a dataset adds an entry. */
    const datasetChanges = async () =>
      (await stored.prepare('select count(*) as changes from dataset_entries').first<{ changes: number }>())?.changes
    const queued = async (by: { client: Client }, more = '') =>
      (await by.client.get(QUEUE + more)).body.spans.map(({ id }: { id: string }) => id).sort()

    // Two reviewers agree, but the span is still open, and the third reviewer can't see their votes.
    for (const by of [ada, kofi]) {
      expect(await vote(by, agreed, accept)).toMatchObject({ approvedOutput: null, review: { state: 'unreviewed' } })
    }
    expect((await mei.client.get(`/api/spans/${agreed}`)).body).toMatchObject({ votes: [], isDisputed: false })
    expect((await grace.client.get(`/api/spans/${agreed}`)).body.votes.map(({ by }: { by: string }) => by)).toEqual([
      ada.userId,
      kofi.userId,
    ])
    expect(await datasetChanges()).toBe(0)
    expect(await vote(mei, agreed, accept)).toMatchObject({
      approvedOutput: { answer: '24 months.' },
      review: { state: 'accepted', by: ada.userId, basis: 'votes' },
    })
    expect(await datasetChanges()).toBe(1)

    // One reviewer disagrees.
    await vote(ada, disputed, accept)
    await vote(kofi, disputed, accept)
    const third = { ...correctTo('14 days.'), comment: 'Only for gifts.', errorType: 'context_misinterpretation' }
    expect(await vote(mei, disputed, third)).toMatchObject({ approvedOutput: null, review: { state: 'unreviewed' } })
    expect(await queued(grace, '&disputed=true')).toEqual([disputed])
    expect((await mei.client.get(`${QUEUE}&disputed=true`)).status).toBe(403)
    for (const by of [ada, kofi, mei]) expect(await queued(by)).toEqual([corrected])
    expect(await datasetChanges()).toBe(1)
    const seen = (await grace.client.get(`/api/spans/${disputed}`)).body
    expect(seen).toMatchObject({ isDisputed: true, votes: [accept, accept, third] })
    const decided = await vote(grace, disputed, { ...correctTo('14 days.'), errorType: 'context_misinterpretation' })
    expect(decided).toMatchObject({
      approvedOutput: { answer: '14 days.' },
      review: { state: 'corrected', by: grace.userId, basis: 'adjudication' },
      isDisputed: false,
    })
    expect(await queued(grace, '&disputed=true')).toEqual([])
    expect(await datasetChanges()).toBe(2)
    const { feedback } = (await org.owner.get(`/api/traces/${decided.trace.id}`)).body
    expect(feedback).toMatchObject([{ spanId: disputed, userId: mei.userId, content: 'Only for gifts.' }])

    // All three correct the last answer to the same value.
    for (const by of [ada, kofi, mei]) await vote(by, corrected, correctTo('4 euros.'))
    expect(await datasetChanges()).toBe(3)
    const { datasets } = (await org.owner.get('/api/datasets?projectSlug=support')).body
    expect(datasets).toMatchObject([{ stepId: STEP, items: 3 }])

    // Computed by hand: Ada and Kofi agree on 3 of 3 decisions, and each agrees with Mei on 2 of 3. Mei's labels are
    // accept, correct, and correct, so the agreement expected by chance is 4/9: κ = (2/3 - 4/9) / (1 - 4/9). Of the 9
    // labels, 5 are accept: α = 1 - (2/9) / (2 · 5 · 4 / (9 · 8)).
    const report = (await grace.client.get(`/api/agreement?projectSlug=support&stepId=${STEP}`)).body
    expect(report).toMatchObject({
      decision: { outputs: 3, unanimous: 2, pairs: 9, agreed: 7, agreement: { value: expect.closeTo(7 / 9, 3) } },
      apart: { decision: { outputs: 0 } },
      differing: [{ spanId: disputed, adjudication: { by: grace.userId, decision: 'correct' } }],
    })
    expect(report.decision.alpha.value).toBeCloseTo(0.6, 3)
    const pairOf = (left: { userId: string }, right: { userId: string }) =>
      report.pairs.find(({ userIds }: { userIds: string[] }) =>
        [left, right].every(each => userIds.includes(each.userId)),
      )
    expect(pairOf(ada, kofi).decision).toMatchObject({ outputs: 3, agreed: 3, kappa: { value: 1 } })
    for (const other of [ada, kofi]) {
      expect(pairOf(other, mei).decision).toMatchObject({
        outputs: 3,
        agreed: 2,
        kappa: { value: expect.closeTo(0.4, 3) },
      })
    }
    const adjudicated = Object.fromEntries(
      report.reviewers.map((each: { userId: string; adjudicated: { decision: { agreed: number } } }) => [
        each.userId,
        each.adjudicated.decision.agreed,
      ]),
    )
    expect(adjudicated).toEqual({ [ada.userId]: 0, [kofi.userId]: 0, [mei.userId]: 1 })
    expect((await mei.client.get(`/api/agreement?projectSlug=support`)).status).toBe(403)
  })
})
