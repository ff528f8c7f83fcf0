import { describe, it } from 'vitest'
import { attributionQuality, type ComparedAnswers } from '../../src/domain/attribution-quality.ts'

const compared = (fields: Partial<ComparedAnswers>): ComparedAnswers => ({
  engine: 'rules',
  engineVersion: '2',
  answered: 'a1',
  named: 'a1',
  tenth: 5,
  count: 1,
  confidence: 0.55,
  ...fields,
})

describe('the quality of attribution', () => {
  it('is reported by type, category, engine, and confidence', ({ expect }) => {
    const quality = attributionQuality(
      [
        compared({ count: 4, tenth: 8, confidence: 3.4 }),
        compared({ named: 'a2', count: 1, tenth: 8, confidence: 0.8 }),
        compared({ named: 'b1', count: 2, tenth: 5, confidence: 1.1, engine: 'model' }),
        compared({ answered: 'b1', named: 'b1', count: 2, tenth: 9, confidence: 2 }),
        compared({ answered: 'b1', named: 'a1', count: 1, tenth: 0, confidence: 0 }),
      ],
      errorType => errorType[0] ?? '',
    )
    expect(quality.reviewed).toBe(10)
    expect(quality.agreement).toEqual({ errorType: 0.6, category: 0.7 })
    // Chance agreement is (7 × 5 + 3 × 4) / 100 = 0.47 for types and (7 × 6 + 3 × 4) / 100 = 0.54 for categories.
    expect(quality.kappa.errorType).toBeCloseTo(0.13 / 0.53, 12)
    expect(quality.kappa.category).toBeCloseTo(0.16 / 0.46, 12)
    expect(quality.errorTypes).toEqual([
      {
        errorType: 'a1',
        answered: 7,
        agreed: 4,
        precision: 4 / 7,
        interval: { low: expect.closeTo(0.2505, 4), high: expect.closeTo(0.8418, 4) },
        overruled: [
          { errorType: 'b1', count: 2 },
          { errorType: 'a2', count: 1 },
        ],
      },
      {
        errorType: 'b1',
        answered: 3,
        agreed: 2,
        precision: 2 / 3,
        interval: { low: expect.closeTo(0.2077, 4), high: expect.closeTo(0.9385, 4) },
        overruled: [{ errorType: 'a1', count: 1 }],
      },
    ])
    expect(quality.engines).toEqual([
      {
        engine: 'rules',
        version: '2',
        reviewed: 8,
        agreed: 6,
        interval: { low: expect.closeTo(0.4093, 4), high: expect.closeTo(0.9285, 4) },
        agreement: { errorType: 0.75, category: 7 / 8 },
      },
      {
        engine: 'model',
        version: '2',
        reviewed: 2,
        agreed: 0,
        interval: { low: 0, high: expect.closeTo(0.6576, 4) },
        agreement: { errorType: 0, category: 0 },
      },
    ])
    expect(quality.calibration).toHaveLength(10)
    expect(quality.calibration[0]).toMatchObject({ from: 0, to: 0.1, count: 1, meanConfidence: 0, agreement: 0 })
    expect(quality.calibration[1]).toEqual({
      from: 0.1,
      to: 0.2,
      count: 0,
      agreed: 0,
      meanConfidence: null,
      agreement: null,
      interval: { low: 0, high: 1 },
    })
    expect(quality.calibration[5]).toMatchObject({ from: 0.5, to: 0.6, count: 2, meanConfidence: 0.55, agreement: 0 })
    expect(quality.calibration[8]).toMatchObject({ count: 5, agreement: 0.8 })
    expect(quality.calibration[8]?.meanConfidence).toBeCloseTo(0.84, 12)
    expect(quality.calibration[9]).toMatchObject({ from: 0.9, to: 1, count: 2, meanConfidence: 1, agreement: 1 })
  })

  it('is empty if nothing was compared', ({ expect }) => {
    const quality = attributionQuality([], () => '')
    const nothing = { errorType: null, category: null }
    expect(quality).toMatchObject({ reviewed: 0, agreement: nothing, kappa: nothing, errorTypes: [], engines: [] })
    expect(quality.calibration.map(({ count }) => count)).toEqual(Array(10).fill(0))
  })
})
