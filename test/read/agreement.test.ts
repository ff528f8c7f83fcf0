import { beforeAll, describe, it } from 'vitest'
import { MAX_COMPARED_OUTPUTS, MAX_DIFFERING_OUTPUTS, MAX_SCANNED_VOTES } from '../../src/limits.ts'
import { databaseOfTrace, databases, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { newWithVotes, type StoredVote } from '../support/stored-votes.ts'
import { ACCEPT, adjudicatorOf, correct, newVoted, RESET } from '../support/voting.ts'

const MONDAY = Date.parse('2026-11-16T09:00:00.000Z')
const WEEK_MS = 7 * 24 * 3_600_000

/** A tenant with three reviewers, and a key that no blind policy applies to. */
async function newTeam() {
  const org = await newOrg()
  const ids = await Promise.all([reviewerOf(org), reviewerOf(org), reviewerOf(org)])
  const [a = '', b = '', c = ''] = ids.map(({ userId }) => userId).sort()
  const manager = org.clientOf(await org.keyFor({ scopes: ['manage', 'read'] }))
  const bound = org.clientOf(await org.keyFor({ scopes: ['manage', 'review'] }))
  return { org, a, b, c, ids, manager, bound }
}

type Team = Awaited<ReturnType<typeof newTeam>>

const agreementOf = async ({ manager }: Pick<Team, 'manager'>, query = '') =>
  (await manager.get(`/api/agreement?projectSlug=support${query}`)).body
const outputsOf = async ({ manager }: Pick<Team, 'manager'>, query = '') =>
  (await manager.get(`/api/agreement/outputs?projectSlug=support${query}`)).body.outputs

/** Decides on a span as an adjudicator would. */
async function adjudicate(voted: Awaited<ReturnType<typeof newWithVotes>>, body: object) {
  await voted.review(body)
  await stored.prepare("update reviews set basis = 'adjudication' where span_id = ?").bind(voted.spanId).run()
}

describe('GET /api/agreement', () => {
  let team: Team
  let spans: string[]
  const t1 = 'context_misinterpretation'
  const t2 = 'reasoning_error'
  beforeAll(async () => {
    team = await newTeam()
    const { org, a, b, c } = team
    const at = (week: number, hour = 0) => MONDAY + week * WEEK_MS + hour * 3_600_000
    const correct = (by: string, errorType?: string): StoredVote => ({
      by,
      decision: 'correct',
      ...(errorType !== undefined && { errorType }),
    })
    const votesAt = (time: number, votes: readonly StoredVote[]) => votes.map(vote => ({ at: time, ...vote }))
    const voted = [
      await newWithVotes(org, votesAt(at(0), [{ by: a }, { by: b }, { by: c }])),
      await newWithVotes(org, votesAt(at(0, 1), [{ by: a, comment: 'Fine' }, correct(b, t1), { by: c }])),
      await newWithVotes(org, votesAt(at(0, 2), [correct(a, t1), correct(b, t1), correct(c, t2)]), 'route'),
      // The second vote is in the next week, but the output is counted in the week of the first vote.
      await newWithVotes(org, [
        { by: a, at: at(1) },
        { by: b, at: at(2) },
      ]),
      await newWithVotes(org, votesAt(at(1, 1), [correct(a, t2), { by: b }])),
    ] as const
    const [, second, , , last] = voted
    await adjudicate(second, { decision: 'correct', approvedOutput: { answer: 'B' }, errorType: t1 })
    await adjudicate(last, { decision: 'accept' })
    spans = voted.map(({ spanId }) => spanId)
    // None of these votes count, because they're withdrawn, not blind, not on a sampled output, or cast after a
    // decision on the same output.
    await newWithVotes(org, votesAt(at(0), [{ by: a }, { by: b, isWithdrawn: true }]))
    await newWithVotes(
      org,
      votesAt(
        at(0),
        [{ by: a, isBlind: false }, correct(b), correct(c)].map(each => ({ ...each, isBlind: false })),
      ),
    )
    await newWithVotes(
      org,
      votesAt(at(0), [{ by: a }, correct(b)]).map(each => ({ ...each, isSampled: false })),
    )
    const decided = await newWithVotes(
      org,
      votesAt(at(0), [
        { by: a, round: 2 },
        { ...correct(b), round: 2 },
      ]),
    )
    await decided.review({ decision: 'accept' })
    await decided.review({ decision: 'reset' })
  })

  it('returns the figures that were computed by hand from the counted votes', async ({ expect }) => {
    const { a, b, c } = team
    const body = await agreementOf(team)
    // Pairs that agree: 3 of 3, 1 of 3, 3 of 3, 1 of 1, and 0 of 1. 8 of 13 labels are accept, and there are
    // 3 + 1 + 3 + 2 + 0 = 9 coincidences. α = (12 × 9 − 8 × 7 − 5 × 4) / (13 × 12 − 8 × 7 − 5 × 4) = 32 / 80.
    expect(body.decision).toMatchObject({ outputs: 5, unanimous: 3, pairs: 11, agreed: 8 })
    expect(body.decision.agreement.value).toBeCloseTo(8 / 11, 12)
    expect(body.decision.alpha.value).toBeCloseTo(0.4, 12)
    // The third output has the types t1, t1, and t2: α = (2 × 1 − 2) / (3 × 2 − 2).
    expect(body.errorType).toMatchObject({ outputs: 1, unanimous: 0, pairs: 3, agreed: 1, alpha: { value: 0 } })
    expect(body.isCut).toBe(false)

    const steps = body.steps.map(({ stepId, decision }: (typeof body.steps)[0]) => [
      stepId,
      decision.pairs,
      decision.agreed,
    ])
    expect(steps).toEqual([
      ['answer', 8, 5],
      ['route', 3, 3],
    ])
    const weeks = body.weeks.map(({ week, decision }: (typeof body.weeks)[0]) => [
      week,
      decision.outputs,
      decision.agreed,
    ])
    expect(weeks).toEqual([
      ['2026-11-16', 3, 7],
      ['2026-11-23', 2, 1],
    ])

    const kappas = body.pairs.map(({ userIds, decision: { outputs, agreed, kappa } }: (typeof body.pairs)[0]) => [
      ...[userIds, outputs, agreed, kappa.value],
    ])
    expect(kappas).toEqual([
      // Each accepts 3 of 5, so (9 + 4) / 25 agree by chance: κ = (15 − 13) / (25 − 13).
      [[a, b], 5, 3, expect.closeTo(1 / 6, 12)],
      [[a, c], 3, 3, 1],
      // (1 × 2 + 2 × 1) / 9 agree by chance: κ = (6 − 4) / (9 − 4).
      [[b, c], 3, 2, expect.closeTo(2 / 5, 12)],
    ])

    const reviewers = body.reviewers.map(({ userId, votes, decision, adjudicated }: (typeof body.reviewers)[0]) => [
      ...[userId, votes, `${decision.agreed}/${decision.pairs}`],
      ...[adjudicated.decision, adjudicated.errorType].map(({ agreed, outputs }) => `${agreed}/${outputs}`),
    ])
    expect(reviewers).toEqual([
      // The output with a withdrawn vote counts toward a's votes.
      [a, 6, '6/8', '0/2', '0/0'],
      [b, 5, '5/8', '2/2', '1/1'],
      [c, 3, '5/6', '0/1', '0/0'],
    ])

    // Two of three people correct the output whose votes aren't blind. On both the unsampled output and the output with
    // an earlier decision, one person accepts and one person corrects.
    expect(body.apart.decision).toMatchObject({ outputs: 3, unanimous: 0, pairs: 5, agreed: 1 })

    // The output with two differing votes comes first, then the output on which one of three votes differs, and then
    // the output on which only the error types differ.
    expect(body.differing.map(({ spanId }: { spanId: string }) => spanId)).toEqual([spans[4], spans[1], spans[2]])
    expect(body.differing[1]).toMatchObject({
      stepId: 'answer',
      firstVoteAt: '2026-11-16T10:00:00.000Z',
      votes: [
        { by: a, decision: 'accept', errorType: null, comment: 'Fine' },
        { by: b, decision: 'correct', errorType: t1 },
        { by: c, decision: 'accept' },
      ],
      adjudication: { decision: 'correct', errorType: t1 },
    })
  })

  it('lists exactly as many outputs as each figure counts', async ({ expect }) => {
    const body = await agreementOf(team)
    const count = async (query: string) => (await outputsOf(team, query)).length
    for (const label of ['decision', 'errorType'] as const) {
      const numbers: [query: string, expected: number][] = [
        ['', body[label].outputs],
        ['&agrees=true', body[label].unanimous],
        ['&agrees=false', body[label].outputs - body[label].unanimous],
        ['&apart=true', body.apart[label].outputs],
        ...body.steps.map((step: (typeof body.steps)[0]) => [`&stepId=${step.stepId}`, step[label].outputs]),
        ...body.weeks.map((week: (typeof body.weeks)[0]) => {
          const [from, to] = [0, WEEK_MS].map(ms => new Date(Date.parse(week.week) + ms).toISOString())
          return [`&from=${from}&to=${to}`, week[label].outputs]
        }),
        ...body.reviewers.flatMap(({ userId, adjudicated, ...reviewer }: (typeof body.reviewers)[0]) => [
          [`&reviewerId=${userId}`, reviewer[label].outputs],
          [`&reviewerId=${userId}&withAdjudicator=true`, adjudicated[label].outputs],
          [`&reviewerId=${userId}&withAdjudicator=true&agrees=true`, adjudicated[label].agreed],
        ]),
        ...body.pairs.flatMap(({ userIds, ...pair }: (typeof body.pairs)[0]) => {
          const query = `&reviewerId=${userIds[0]}&withReviewerId=${userIds[1]}`
          const { outputs, agreed } = pair[label]
          return [
            [query, outputs],
            [`${query}&agrees=true`, agreed],
            [`${query}&agrees=false`, outputs - agreed],
          ]
        }),
      ]
      for (const [query, expected] of numbers) expect(await count(`&label=${label}${query}`), query).toBe(expected)
    }
    for (const { userId, votes } of body.reviewers) expect(await count(`&reviewerId=${userId}`)).toBe(votes)
  })

  it('pages through the list, newest first', async ({ expect }) => {
    const all = await outputsOf(team)
    const times = all.map(({ firstVoteAt }: { firstVoteAt: string }) => firstVoteAt)
    expect(times).toEqual(times.toSorted().toReversed())
    const paged = []
    for (let cursor = ''; ; ) {
      const { body } = await team.manager.get(`/api/agreement/outputs?projectSlug=support&limit=4${cursor}`)
      paged.push(...body.outputs)
      if (body.nextCursor === null) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(paged).toEqual(all)
  })

  it('rejects a filter if a filter that it requires is missing', async ({ expect }) => {
    const id = crypto.randomUUID()
    for (const [query, path, message] of [
      ['&agrees=true', 'agrees', 'requires label'],
      [`&withReviewerId=${id}&reviewerId=${id}`, 'withReviewerId', 'requires label'],
      [`&withReviewerId=${id}&label=decision`, 'withReviewerId', 'requires reviewerId'],
      ['&withAdjudicator=true&label=decision', 'withAdjudicator', 'requires reviewerId'],
      [
        `&withAdjudicator=true&label=decision&reviewerId=${id}&withReviewerId=${id}`,
        'withAdjudicator',
        'must not be combined with `withReviewerId`',
      ],
      ['&from=2026-11-02T00:00:00.000Z&to=2026-11-02T00:00:00.000Z', 'from', 'must be before `to`'],
    ]) {
      const { status, body } = await team.manager.get(`/api/agreement/outputs?projectSlug=support${query}`)
      expect({ status, details: body.details }).toEqual({ status: 400, details: [{ path, message }] })
    }
  })
})

describe('the counted outputs', () => {
  it('stay correct while people vote, decide, and adjudicate', async ({ expect }) => {
    const { org, ada, ben, cleo, spanId, on } = await newVoted({ answer: 'A' }, { blind: true })
    const judge = await adjudicatorOf(org)
    const manager = org.clientOf(await org.keyFor({ scopes: ['manage', 'read'] }))
    const others = [await newReviewed({}, org), await newReviewed({}, org), await newReviewed({}, org)] as const
    const [changed, disputed, withdrawn] = others.map(other => on(other.spanId))
    const correction = correct({ answer: 'B' }, { errorType: 'reasoning_error' })
    const steps = [
      // Two people agree, which decides the output. Cleo's decision comes later and isn't a vote.
      [on(spanId), ada, ACCEPT],
      [on(spanId), ben, ACCEPT],
      [on(spanId), cleo, correction],
      // Ada changes her mind. Her first vote counts.
      [changed, ada, ACCEPT],
      [changed, ada, correction],
      [changed, ben, correction],
      [disputed, ada, correction],
      [disputed, ben, ACCEPT],
      [disputed, judge, ACCEPT],
      [withdrawn, ada, ACCEPT],
      [withdrawn, ada, RESET],
      [withdrawn, ben, ACCEPT],
    ] as const
    for (const [vote, by, body] of steps) expect(await vote?.(by, body)).toMatchObject({ status: 200 })

    const body = await agreementOf({ manager })
    // 1 of 3 agree. 4 of 6 labels are accept: α = (5 × 2 − 4 × 3 − 2 × 1) / (6 × 5 − 4 × 3 − 2 × 1).
    expect(body.decision).toMatchObject({ outputs: 3, unanimous: 1, pairs: 3, agreed: 1, alpha: { value: -4 / 16 } })
    // Both accept 2 of 3, so (4 + 1) / 9 agree by chance: κ = (3 − 5) / (9 − 5).
    expect(body.pairs).toHaveLength(1)
    expect(body.pairs[0].decision.kappa.value).toBeCloseTo(-1 / 2, 12)
    const found = new Map(body.reviewers.map((reviewer: { userId: string }) => [reviewer.userId, reviewer]))
    const adjudicated = (agreed: number) => ({ adjudicated: { decision: { outputs: 1, agreed } } })
    expect(found.get(ada.userId)).toMatchObject({ votes: 3, ...adjudicated(0) })
    expect(found.get(ben.userId)).toMatchObject({ votes: 4, ...adjudicated(1) })
    expect([found.size, body.apart.decision.outputs]).toEqual([2, 0])
    expect(body.differing[0]).toMatchObject({
      spanId: others[1].spanId,
      adjudication: { by: judge.userId, decision: 'accept' },
    })
    // An output with two votes is counted again when it's replaced and the same people vote on the new output.
    await others[0].observe({ data: { answer: 'New' }, timestamp: '2099-01-01T00:00:00.000Z' })
    for (const by of [ada, ben]) expect(await changed?.(by, ACCEPT)).toMatchObject({ status: 200 })
    expect((await agreementOf({ manager })).decision).toMatchObject({ outputs: 4, agreed: 2 })
    // After a reset, people can vote on the output again, but everybody has seen the decision.
    expect((await changed?.(judge, RESET))?.status).toBe(200)
    for (const by of [ada, ben]) expect((await changed?.(by, ACCEPT))?.status).toBe(200)
    const after = await agreementOf({ manager })
    expect([after.decision.outputs, after.apart.decision.outputs]).toEqual([4, 1])
  })

  it('include outputs that were replaced or whose steps were renamed, but not those in deleted traces', async ({
    expect,
  }) => {
    const team = await newTeam()
    const { org, a, b } = team
    const voted = await newWithVotes(org, [{ by: a }, { by: b, decision: 'correct' }])
    await newWithVotes(org, [{ by: a }, { by: b }], 'reply')
    await voted.observe({ data: { answer: 'New' }, timestamp: '2099-01-01T00:00:00.000Z' })
    const renamed = await org.owner.put(`/api/projects/${org.project.id}/step-names`, {
      names: { reply: 'answer' },
    })
    expect(renamed.status).toBe(200)
    for (const query of ['', '&stepId=answer', '&stepId=reply']) {
      const { decision, steps } = await agreementOf(team, query)
      expect([decision.outputs, decision.agreed, steps.length, steps[0].stepId]).toEqual([2, 1, 1, 'answer'])
    }
    expect((await agreementOf(team, '&stepId=other')).decision.outputs).toBe(0)
    await org.owner.delete(`/api/traces/${voted.id}`)
    expect((await agreementOf(team)).decision).toMatchObject({ outputs: 1, agreed: 1 })
    expect(await outputsOf(team)).toHaveLength(1)
  })

  it('leave out undecided outputs for callers that a blind policy applies to', async ({ expect }) => {
    const team = await newTeam()
    const { org, a, b, c, bound } = team
    const setPolicy = async (blind: boolean) => {
      const policy = { default: { sample: 1, reviewers: 3, blind }, steps: {}, always: [] }
      const { status } = await org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy)
      expect(status).toBe(200)
    }
    const judge = await adjudicatorOf(org)
    await setPolicy(true)
    const decided = await newWithVotes(org, [{ by: a }, { by: b }])
    await decided.review(ACCEPT, {}, judge.client)
    const before = await agreementOf({ manager: bound })
    const open = await newWithVotes(org, [{ by: a }, { by: b, decision: 'correct' }, { by: c }])
    expect(await agreementOf({ manager: bound })).toEqual(before)
    expect(await outputsOf({ manager: bound })).toHaveLength(1)
    expect((await agreementOf(team)).decision).toMatchObject({ outputs: 2, pairs: 4 })
    expect(await outputsOf(team)).toHaveLength(2)
    await setPolicy(false)
    expect((await agreementOf({ manager: bound })).decision).toMatchObject({ outputs: 2, pairs: 4 })
    await setPolicy(true)
    expect(await outputsOf({ manager: bound })).toHaveLength(1)
    await open.review(ACCEPT, {}, judge.client)
    expect((await agreementOf({ manager: bound })).decision).toMatchObject({ outputs: 2, pairs: 4 })
  })

  it('are shown to adjudicators without the manage scope, but to no other reviewer', async ({ expect }) => {
    const { org, ids } = await newTeam()
    const [adjudicator, other] = ids
    await org.owner.patch(`/api/users/${adjudicator.userId}`, { adjudicator: true })
    const { key } = (
      await org.owner.post('/api/api-keys', { name: 'Again', scopes: ['review'], userId: adjudicator.userId })
    ).body
    for (const path of ['/api/agreement', '/api/agreement/outputs']) {
      const query = `${path}?projectSlug=support`
      expect((await org.clientOf(key).get(query)).status).toBe(200)
      const { status, body } = await other.client.get(query)
      expect([status, body.details]).toEqual([403, [{ path: '', message: 'This key lacks the manage scope' }]])
    }
  })
})

describe('the bounds', () => {
  /** Creates a trace in each database for traces. Returns their ids. */
  const newInEach = async (org: Org): Promise<string[]> => {
    const ids = new Map<D1Database, string>()
    while (ids.size < Math.max(databases.length - 1, 1)) {
      const { id } = await newReviewed({ answer: 'A' }, org)
      ids.set(databaseOfTrace(id), id)
    }
    return [...ids.values()]
  }

  /** Stores a vote by each reviewer on each output. The first reviewer corrects all outputs. */
  const storeVotes = async (
    org: Org,
    { outputs, reviewers, first = 0 }: { outputs: number; reviewers: number; first?: number },
  ) => {
    const ids = await newInEach(org)
    for (const [place, id] of ids.entries()) {
      await stored
        .prepare(
          `insert into votes (trace_key, span_id, round, output_revision, output_hash, user_id, id, project_key, step_id,
        decision, created_at, reviewers, first_decision, first_at, is_blind, is_sampled)
      with recursive output(number) as (select ?1 union all select number + 1 from output where number < ?1 + ?2 - 1),
        voter(number) as (select 1 union all select number + 1 from voter where number < ?3)
      select traces.key, printf('00000000-0000-4000-8000-%012d', output.number), 0, 'a', '', printf('00000000-0000-4000-9000-%012d', voter.number),
        output.number || '/' || voter.number, traces.project_key, 'answer',
        iif(voter.number = 1, 'correct', 'accept'), ?4 + output.number, ?3,
        iif(voter.number = 1, 'correct', 'accept'), ?4 + output.number, 1, 1
      from output, voter, traces where traces.id = ?5 and output.number % ?6 = ?7`,
        )
        .bind(first, outputs, reviewers, MONDAY, id, ids.length, place)
        .run()
    }
  }

  it('hold for outputs, including those on which people differ', async ({ expect }) => {
    const team = await newTeam()
    await storeVotes(team.org, { outputs: MAX_COMPARED_OUTPUTS, reviewers: 2 })
    const atBound = await agreementOf(team)
    expect(atBound).toMatchObject({ isCut: false, decision: { outputs: MAX_COMPARED_OUTPUTS } })
    expect(atBound.differing).toHaveLength(MAX_DIFFERING_OUTPUTS)
    await storeVotes(team.org, { first: MAX_COMPARED_OUTPUTS, outputs: 1, reviewers: 2 })
    expect(await agreementOf(team)).toMatchObject({ isCut: true, decision: { outputs: MAX_COMPARED_OUTPUTS } })
  })

  it('hold for votes', async ({ expect }) => {
    const team = await newTeam()
    const reviewers = 6
    const outputs = Math.floor((MAX_SCANNED_VOTES - 1) / reviewers)
    await storeVotes(team.org, { outputs, reviewers })
    expect(await agreementOf(team)).toMatchObject({ isCut: false, decision: { outputs } })
    await storeVotes(team.org, { first: outputs, outputs: 1, reviewers })
    expect(await agreementOf(team)).toMatchObject({ isCut: true, decision: { outputs: outputs + 1 } })
  })
})
