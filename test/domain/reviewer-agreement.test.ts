import { describe, it } from 'vitest'
import { reviewerAgreement, type Vote, type VotedOutputs } from '../../src/domain/reviewer-agreement.ts'
import { atOnce } from '../../src/domain/turns.ts'
import { MAX_COMPARED_REVIEWERS, MAX_COMPARED_STEPS } from '../../src/limits.ts'

const accept = (userId: string): Vote => ({ userId, decision: 'accept', errorType: null })
const correct = (userId: string, errorType: string | null = null): Vote => ({ userId, decision: 'correct', errorType })
const voted = (votes: readonly Vote[], fields: Partial<VotedOutputs> = {}): VotedOutputs => ({
  stepId: 'answer',
  week: 20_000,
  votes,
  adjudication: null,
  count: 1,
  ...fields,
})

const EXAMPLE = [
  voted([accept('a'), accept('b'), accept('c')]),
  voted([accept('a'), correct('b', 't1'), accept('c')], { adjudication: { decision: 'correct', errorType: 't1' } }),
  voted([correct('a', 't1'), correct('b', 't1'), correct('c', 't2')], { stepId: 'route' }),
  voted([accept('a'), accept('b')], { week: 20_007 }),
  voted([correct('a', 't2'), accept('b')], { week: 20_007, adjudication: { decision: 'accept', errorType: null } }),
  // Nobody else voted on this output.
  voted([correct('d')], { stepId: 'route' }),
]

const report = (outputs: readonly VotedOutputs[]) => atOnce(reviewerAgreement(outputs))

describe('the agreement of reviewers', () => {
  it('matches figures computed by hand', ({ expect }) => {
    const { all, steps, weeks, pairs, reviewers, stepCount, reviewerCount } = report(EXAMPLE)
    // Pairs that agree: 3 of 3, 1 of 3, 3 of 3, 1 of 1, and 0 of 1. 8 of 13 labels are `accept`. Coincidences:
    // 3 + 1 + 3 + 2 + 0 = 9. α = (12 × 9 − 8 × 7 − 5 × 4) / (13 × 12 − 8 × 7 − 5 × 4) = 32 / 80.
    expect(all.decision).toMatchObject({ outputs: 5, unanimous: 3, pairs: 11, agreed: 8 })
    expect(all.decision.agreement.value).toBeCloseTo(8 / 11, 12)
    expect(all.decision.alpha.value).toBeCloseTo(0.4, 12)
    // Only the third output has two types: t1, t1, t2. α = (2 × 1 − 2) / (3 × 2 − 2).
    expect(all.errorType).toMatchObject({ outputs: 1, unanimous: 0, pairs: 3, agreed: 1, alpha: { value: 0 } })

    // Without the third output, 5 of 8 pairs agree, and 8 of 10 labels are `accept`:
    // α = (9 × 6 − 8 × 7 − 2) / (90 − 58) = −1 / 8.
    expect(steps.map(({ stepId, decision }) => [stepId, decision.outputs, decision.alpha.value])).toEqual([
      ['answer', 4, expect.closeTo(-1 / 8, 12)],
      ['route', 1, null],
    ])
    expect(steps[0]?.decision).toMatchObject({ pairs: 8, agreed: 5 })
    expect(weeks.map(({ week, decision }) => [week, decision.outputs, decision.agreed])).toEqual([
      [20_000, 3, 7],
      [20_007, 2, 1],
    ])

    const kappas = pairs.map(({ userIds, decision: { outputs, agreed, kappa } }) => [
      userIds.join(''),
      outputs,
      agreed,
      kappa.value,
    ])
    expect(kappas).toEqual([
      // Both accept 3 of 5, so (9 + 4) / 25 agree by chance: κ = (15 − 13) / (25 − 13).
      ['ab', 5, 3, expect.closeTo(1 / 6, 12)],
      ['ac', 3, 3, 1],
      // (1 × 2 + 2 × 1) / 9 agree by chance: κ = (6 − 4) / (9 − 4).
      ['bc', 3, 2, expect.closeTo(2 / 5, 12)],
    ])
    expect(pairs[0]?.errorType).toMatchObject({
      outputs: 1,
      agreed: 1,
      agreement: { value: 1 },
      kappa: { value: null },
    })

    const shares = reviewers.map(({ userId, votes, decision, adjudicated }) => [
      userId,
      votes,
      `${decision.agreed}/${decision.pairs}`,
      `${adjudicated.decision.agreed}/${adjudicated.decision.outputs}`,
      `${adjudicated.errorType.agreed}/${adjudicated.errorType.outputs}`,
    ])
    expect(shares).toEqual([
      // a: 2/2, 1/2, 2/2, 1/1, and 0/1.
      ['a', 5, '6/8', '0/2', '0/0'],
      ['b', 5, '5/8', '2/2', '1/1'],
      ['c', 3, '5/6', '0/1', '0/0'],
      ['d', 1, '0/0', '0/0', '0/0'],
    ])
    expect([stepCount, reviewerCount]).toEqual([2, 4])
  })

  it('is the same for equal outputs given together or one by one, in any order', ({ expect }) => {
    const once = [...EXAMPLE, ...EXAMPLE, ...EXAMPLE]
    const counted = EXAMPLE.toReversed().map(each => ({ ...each, votes: each.votes.toReversed(), count: 3 }))
    const [one, other] = [report(once), report(counted)]
    const values = ({ all, steps, weeks, pairs, reviewers }: typeof one) =>
      JSON.parse(
        JSON.stringify({ all, steps, weeks, pairs, reviewers }, (key, value) =>
          key === 'interval' ? undefined : value,
        ),
      )
    expect(values(other)).toEqual(values(one))
  })

  it('is undefined if there are no votes, or if all votes are the same', ({ expect }) => {
    const nothing = { value: null, interval: null }
    expect(report([])).toMatchObject({
      all: { decision: { outputs: 0, agreement: nothing, alpha: nothing } },
      ...{ steps: [], weeks: [], pairs: [], reviewers: [], stepCount: 0, reviewerCount: 0 },
    })
    const { all, pairs } = report([voted([accept('a'), accept('b')], { count: 30 })])
    expect(all.decision).toMatchObject({ agreement: { value: 1, interval: { low: 1, high: 1 } }, alpha: nothing })
    expect(pairs[0]?.decision.kappa).toEqual(nothing)
  })

  it('lists the steps and reviewers with the most outputs, and counts the others', ({ expect }) => {
    const outputs = Array.from({ length: MAX_COMPARED_STEPS + 1 }, (_, step) =>
      voted([accept('a'), accept(`reviewer ${step % (MAX_COMPARED_REVIEWERS + 1)}`)], {
        stepId: `step ${step}`,
        count: step + 1,
      }),
    )
    const { steps, reviewers, pairs, stepCount, reviewerCount } = report(outputs)
    expect([steps.length, stepCount]).toEqual([MAX_COMPARED_STEPS, MAX_COMPARED_STEPS + 1])
    expect(steps.at(-1)?.stepId).toBe('step 1')
    expect([reviewers.length, reviewerCount]).toEqual([MAX_COMPARED_REVIEWERS, MAX_COMPARED_REVIEWERS + 2])
    expect(pairs).toHaveLength(MAX_COMPARED_REVIEWERS - 1)
  })
})
