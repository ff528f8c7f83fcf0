import { describe, it } from 'vitest'
import { missingProof, neededFixes, type ProblemFacts, problemState, verificationIn } from '../../src/domain/problem.ts'

const FACTS: ProblemFacts = {
  isDismissed: false,
  hasCandidate: true,
  isActive: true,
  isProven: true,
  isVerified: true,
  casesSince: 0,
}

describe('the state of a problem', () => {
  it.for([
    ['open', { hasCandidate: false }],
    ['fixing', { isActive: false, isProven: false }],
    ['proven', { isActive: false }],
    ['live', { isVerified: false }],
    // An override can activate a candidate without proof.
    ['live', { isVerified: false, isProven: false }],
    ['verified', {}],
    ['verified', { isProven: false }],
    ['verified', { casesSince: 2 }],
    ['open', { casesSince: 3 }],
    // The candidate was rolled back after its verification.
    ['proven', { isActive: false, casesSince: 3 }],
    ['fixing', { isActive: false, isProven: false, casesSince: 3 }],
    ['dismissed', { isDismissed: true }],
    ['dismissed', { isDismissed: true, hasCandidate: false }],
    ['dismissed', { isDismissed: true, casesSince: 3 }],
  ] as const)('is %s with %o, regardless of the previous state', ([state, facts], { expect }) => {
    expect(problemState({ ...FACTS, ...facts })).toBe(state)
  })
})

describe('the proof of a candidate', () => {
  const shown = { met: true, hasExperiment: true, hasGate: false, items: 5, fixed: 4 }

  it('requires 80% of the test items to be fixed, and at least three', ({ expect }) => {
    expect([0, 1, 3, 4, 5, 10, 11, 25].map(neededFixes)).toEqual([3, 3, 3, 4, 4, 8, 9, 20])
  })

  it.for([
    [{}, null],
    [{ items: 3, fixed: 3 }, null],
    [{ fixed: 3 }, /^3 of the problem's 5 test items are fixed; 4 are required\.$/],
    [{ items: 2, fixed: 2 }, /has 2 of the problem's test items; at least 3 are required/],
    [{ hasExperiment: false, items: 0, fixed: 0 }, /no finished experiment/],
    [{ met: false, hasGate: true }, /doesn't meet the step's gate/],
    [{ met: false }, /at least 10 items in the test split/],
  ] as const)('with %o lacks %s', ([fields, reason], { expect }) => {
    const missing = missingProof({ ...shown, ...fields })
    if (reason === null) expect(missing).toBeNull()
    else expect(missing).toMatch(reason)
  })
})

describe('the verification of a candidate', () => {
  const look = (
    at: number,
    state: 'better' | 'worse' | 'no_difference',
    n: number,
    [before, after]: readonly [before: number, after: number],
  ) => ({
    at,
    state,
    before: { n: 100, accepted: 50 },
    after: { n, accepted: 0 },
    errorTypes: new Map([['reasoning_error', { before, after }]]),
  })

  it.for([
    ['nothing', 'no_difference', [look(1, 'no_difference', 20, [10, 2])], undefined],
    ['more acceptances', 'better', [look(1, 'no_difference', 20, [0, 0]), look(2, 'better', 40, [0, 0])], 2],
    [
      'more acceptances that don’t last',
      'no_difference',
      [look(1, 'better', 20, [0, 0]), look(2, 'no_difference', 40, [0, 0])],
      undefined,
    ],
    ['a rarer type', 'no_difference', [look(1, 'no_difference', 20, [50, 0])], 1],
    [
      'a rarer type at a later look',
      'worse',
      [look(1, 'no_difference', 20, [10, 1]), look(2, 'worse', 80, [20, 1])],
      2,
    ],
    ['a more frequent type', 'no_difference', [look(1, 'no_difference', 80, [0, 40])], undefined],
  ] as const)('of %s', ([, state, looks, at], { expect }) => {
    expect(verificationIn({ state, looks }, 'reasoning_error')).toBe(at)
  })
})
