import { describe, it } from 'vitest'
import type { Insights } from '../../../src/ui/api/wire.ts'
import { acceptanceByStep } from '../../../src/ui/insights/acceptance-series.ts'
import { bucketsOf } from '../../../src/ui/insights/window.ts'

const RANGE = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-04T00:00:00.000Z' }

/** The lines of all steps over three days. */
const seriesOf = (days: Insights['days'], promptVersions: Insights['promptVersions'] = []) =>
  acceptanceByStep(
    {
      ...RANGE,
      outputs: { total: 0, reviewed: 0, countedAt: null },
      usage: null,
      costUsd: null,
      steps: [],
      versions: [],
      useDays: [],
      days,
      promptVersions,
      errorTypes: [],
      reviewers: [],
    },
    bucketsOf(RANGE),
  )

const version = (number: number, stepId = 'classify') => ({
  id: `${stepId}-${number}`,
  promptId: stepId,
  stepId,
  number,
  isActive: number === 1,
})

const decided = (day: number, promptVersionId: string | null, accepted = 1, corrected = 0) => ({
  day: `2026-11-0${day}`,
  stepId: 'classify',
  promptVersionId,
  accepted,
  corrected,
})

describe('acceptanceByStep', () => {
  it('draws a line for each version, newest first, with gaps on days without decisions', ({ expect }) => {
    const [step] = seriesOf(
      [decided(1, 'classify-1', 2, 1), decided(3, 'classify-1'), decided(3, 'classify-2', 0, 4), decided(2, null)],
      [version(1), version(2)],
    )
    expect(step?.lines.map(({ label, isActive }) => [label, isActive])).toEqual([
      ['v2', false],
      ['v1', true],
      ['no version', false],
    ])
    expect(step?.lines[1]?.points).toEqual([{ accepted: 2, corrected: 1 }, null, { accepted: 1, corrected: 0 }])
    expect(step).toMatchObject({ accepted: 4, corrected: 5 })
  })

  it('combines the oldest versions if there are too many to distinguish', ({ expect }) => {
    const numbers = [1, 2, 3, 4, 5, 6]
    const [step] = seriesOf(
      numbers.map(number => decided(1, `classify-${number}`)),
      numbers.map(number => version(number)),
    )
    expect(step?.lines.map(({ label, promptVersionId, total }) => [label, promptVersionId, total.accepted])).toEqual([
      ['v6', 'classify-6', 1],
      ['v5', 'classify-5', 1],
      ['v4', 'classify-4', 1],
      ['earlier versions', 'classify-3,classify-2,classify-1', 3],
    ])
  })

  it("names the step if a version belongs to another step's prompt", ({ expect }) => {
    const [step] = seriesOf([decided(1, 'route-2')], [version(2, 'route')])
    expect(step?.lines.map(({ label }) => label)).toEqual(['v2 of route'])
  })

  it("puts the step with the most decisions first, and isn't confused by names such as __proto__", ({ expect }) => {
    const steps = seriesOf([
      { ...decided(1, null, 1), stepId: 'few' },
      { ...decided(1, null, 2), stepId: '__proto__' },
      { ...decided(2, 'deleted', 1), stepId: '__proto__' },
    ])
    expect(steps.map(({ stepId, accepted }) => [stepId, accepted])).toEqual([
      ['__proto__', 3],
      ['few', 1],
    ])
    expect(steps[0]?.lines).toMatchObject([{ label: 'all', total: { accepted: 3 } }])
  })
})
