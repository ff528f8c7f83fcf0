import { describe, it } from 'vitest'
import { perHour } from '../../../src/ui/review/pace.ts'

const MINUTE = 60_000
/** The times of decisions at a steady pace. */
const every = (interval: number, count: number) => Array.from({ length: count }, (_, index) => (index + 1) * interval)

describe('the pace', () => {
  it('is unknown until ten minutes have passed', ({ expect }) => {
    expect(perHour(0, [])).toBeNull()
    expect(perHour(0, every(1_000, 25))).toBeNull()
    expect(perHour(0, every(MINUTE / 2, 19))).toBeNull()
    expect(perHour(0, every(MINUTE / 2, 20))).toBe(120)
  })

  it('leaves out long pauses', ({ expect }) => {
    expect(perHour(0, [...every(MINUTE, 10), 100 * MINUTE])).toBe(Math.round((11 * 60) / 15))
  })
})
