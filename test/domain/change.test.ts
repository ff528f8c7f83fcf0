import { describe, it } from 'vitest'
import { changeFrom, recordedRightness } from '../../src/domain/change.ts'
import { OUTCOMES } from '../../src/domain/outcome.ts'

describe('the change from a baseline', () => {
  it.for([
    ['accept', ['stillRight', 'regressed', null, null]],
    ['correct', ['fixed', 'stillWrong', null, null]],
    ['import', [null, null, null, null]],
  ] as const)('follows from the recorded decision %s and the outcome', ([decision, changes], { expect }) => {
    expect(OUTCOMES).toEqual(['passed', 'failed', 'unjudged', 'error'])
    expect(OUTCOMES.map(outcome => changeFrom(recordedRightness(decision), outcome))).toEqual(changes)
  })
})
