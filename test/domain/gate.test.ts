import { describe, it } from 'vitest'
import { checkGate, type Gate, type UnmetCondition } from '../../src/domain/gate.ts'
import type { OutcomeCounts } from '../../src/domain/tally.ts'
import { DAY_MS } from '../../src/limits.ts'

const NOW = Date.UTC(2026, 10, 23)
const gate = (fields: Partial<Gate>): Gate => ({
  minItems: 0,
  minPassRate: null,
  maxRegressed: null,
  maxUnjudged: null,
  maxAgeDays: null,
  split: 'test',
  allowJudge: false,
  ...fields,
})
const counts = (fields: Partial<OutcomeCounts>): OutcomeCounts => ({
  passed: 0,
  failed: 0,
  unjudged: 0,
  error: 0,
  fixed: 0,
  regressed: 0,
  stillRight: 0,
  stillWrong: 0,
  ...fields,
})

describe('a gate', () => {
  it.for<[string, Partial<Gate>, Partial<OutcomeCounts>, UnmetCondition[]]>([
    ['nothing required', {}, {}, []],
    ['enough items', { minItems: 10 }, { passed: 5, failed: 3, error: 2 }, []],
    [
      'unjudged items, which do not count',
      { minItems: 10 },
      { passed: 9, unjudged: 50 },
      [{ condition: 'minItems', required: 10, actual: 9 }],
    ],
    ['the pass rate at its bound', { minPassRate: 0.9 }, { passed: 9, failed: 1, unjudged: 5 }, []],
    [
      'errors, which do not pass',
      { minPassRate: 0.9 },
      { passed: 9, error: 2 },
      [{ condition: 'minPassRate', required: 0.9, actual: 9 / 11 }],
    ],
    [
      'no pass rate, because nothing was judged',
      { minPassRate: 0 },
      { unjudged: 3 },
      [{ condition: 'minPassRate', required: 0, actual: null }],
    ],
    ['a pass rate of 0', { minPassRate: 0 }, { failed: 1 }, []],
    ['regressions at their bound', { maxRegressed: 1 }, { regressed: 1 }, []],
    ['regressions', { maxRegressed: 0 }, { regressed: 1 }, [{ condition: 'maxRegressed', required: 0, actual: 1 }]],
    ['unjudged items at their bound', { maxUnjudged: 2 }, { unjudged: 2 }, []],
    ['unjudged items', { maxUnjudged: 2 }, { unjudged: 3 }, [{ condition: 'maxUnjudged', required: 2, actual: 3 }]],
    ['the age at its bound', { maxAgeDays: 2 }, {}, []],
    ['the age', { maxAgeDays: 1 }, {}, [{ condition: 'maxAgeDays', required: 1, actual: 2 }]],
    [
      'several conditions',
      { minItems: 2, minPassRate: 0.5, maxRegressed: 0, maxUnjudged: 0, maxAgeDays: 0 },
      { failed: 1, regressed: 1, unjudged: 1 },
      [
        { condition: 'minItems', required: 2, actual: 1 },
        { condition: 'minPassRate', required: 0.5, actual: 0 },
        { condition: 'maxRegressed', required: 0, actual: 1 },
        { condition: 'maxUnjudged', required: 0, actual: 1 },
        { condition: 'maxAgeDays', required: 0, actual: 2 },
      ],
    ],
  ])('lists each unmet condition: %s', ([, fields, counted, unmet], { expect }) => {
    const experiment = { counts: counts(counted), finishedAt: NOW - 2 * DAY_MS }
    expect(checkGate(gate(fields), experiment, NOW)).toEqual({ met: unmet.length === 0, unmet })
  })

  it('has only unmet conditions if there is no experiment', ({ expect }) => {
    const fields = { minItems: 1, maxRegressed: 0, maxAgeDays: 30 }
    expect(checkGate(gate(fields), undefined, NOW)).toEqual({
      met: false,
      unmet: [
        { condition: 'minItems', required: 1, actual: 0 },
        { condition: 'maxRegressed', required: 0, actual: null },
        { condition: 'maxAgeDays', required: 30, actual: null },
      ],
    })
  })
})
