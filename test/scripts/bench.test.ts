import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, it } from 'vitest'
import { highestRate } from '../../bench/queueing.ts'
import { tableOf } from '../../bench/report.ts'
import { seededRandom } from '../../src/domain/random.ts'
import { directoryForData } from './in-memory.ts'

const BENCH = resolve(import.meta.dirname, '../../bench/index.ts')

interface Measurement {
  what: string
  value?: number
  goal?: object
  missedBy?: number
  more?: Record<string, number | null>
}

const bench = (...flags: string[]) =>
  promisify(execFile)(process.execPath, [BENCH, ...flags], { env: { ...process.env, TMPDIR: directoryForData() } })

describe('the table of a section', () => {
  it.for([
    [0.92, { atLeast: 0.8 }, 'met'],
    [0.8, { atLeast: 0.8 }, 'met'],
    [0.6, { atLeast: 0.8 }, 'missed by 0.20 (25%)'],
    [300, { atMost: 300 }, 'met'],
    [330, { atMost: 300 }, 'missed by 30 (10%)'],
  ] as const)('rates %d with the goal %o as %s', ([value, goal, verdict], { expect }) => {
    const [, ...lines] = tableOf({ title: 'Speed', measurements: [{ what: 'of light', value, goal }] }).split('\n')
    expect(lines.at(-1)?.trim().split(/ {2,}/).at(-1)).toBe(verdict)
  })

  it('aligns its columns, including additional figures', ({ expect }) => {
    const measurements = [
      { what: 'a list', value: 1234.5, unit: 'ms', spread: [1200, 1300] as [number, number], more: { rows: 5 } },
      { what: 'a trace', more: { rows: 1_000_000 } },
    ]
    expect(tableOf({ title: 'Reading', notes: ['Warm.'], measurements })).toBe(
      [
        '',
        'Reading',
        'Warm.',
        '',
        '                          measured       rows',
        'a list   1,235 (1,200 to 1,300) ms          5',
        'a trace                             1,000,000',
      ].join('\n'),
    )
  })
})

describe('the highest rate of simulated calls', () => {
  const LIMIT_MS = 50

  /**
   * Creates calls that arrive independently, take an exponentially distributed time, and are spread across databases.
   */
  const callsTo = (databases: number, meanMs: number) => {
    const random = seededRandom(7)
    const exponential = () => -Math.log(1 - random())
    return Array.from({ length: 400_000 }, () => ({
      gap: exponential(),
      database: Math.floor(random() * databases),
      serviceMs: meanMs * exponential(),
    }))
  }

  it.for([1, 4])('matches the prediction of queueing theory for %i databases', (databases, { expect }) => {
    // In an M/M/1 queue, the time in the system is exponentially distributed with the rate `served - rate`.
    const served = 1000 / 4
    const expected = databases * (served - (1000 * Math.log(100)) / LIMIT_MS)
    const rate = highestRate(callsTo(databases, 4), databases, LIMIT_MS)
    expect(rate / expected).toBeGreaterThan(0.95)
    expect(rate / expected).toBeLessThan(1.05)
  })

  it('is 0 if more than 1% of the calls take too long even without waiting', ({ expect }) => {
    expect(highestRate(callsTo(1, 40), 1, LIMIT_MS)).toBeLessThan(0.1)
  })

  it('is limited by a database that gets all the calls, no matter how many databases there are', ({ expect }) => {
    const calls = callsTo(1, 4)
    expect(highestRate(calls, 16, LIMIT_MS)).toBeCloseTo(highestRate(calls, 1, LIMIT_MS), 1)
  })
})

describe('npm run bench', () => {
  it('runs every benchmark, and prints only a JSON document with --json', { timeout: 600_000 }, async ({ expect }) => {
    const { stdout } = await bench('--quick', '--json')
    const { sections } = JSON.parse(stdout)
    const names = sections.map(({ benchmark }: { benchmark: string }) => benchmark)
    expect(new Set(names)).toEqual(
      new Set([
        'counts',
        'throughput',
        'batches',
        'capacity',
        'scale',
        'search',
        'detail',
        'exports',
        'webhooks',
        'memory',
        'neighbors',
        'attribution',
        'bundle',
        'startup',
      ]),
    )
    for (const { title, measurements } of sections as { title: string; measurements: Measurement[] }[]) {
      expect(measurements, title).not.toEqual([])
      for (const { what, value, goal, missedBy, more = {} } of measurements) {
        const figures = [...(value === undefined ? [] : [value]), ...Object.values(more)]
        expect(figures, `${title}: ${what}`).not.toEqual([])
        // The value may be null because short blocks use no measurable processor time, and only Linux reports it.
        for (const figure of figures) expect(figure ?? 0, `${title}: ${what}`).toBeGreaterThanOrEqual(0)
        expect(typeof missedBy, `${title}: ${what}`).toBe(goal ? 'number' : 'undefined')
      }
    }
  })

  it('lists the benchmarks if an unknown one is requested', async ({ expect }) => {
    await expect(bench('--only', 'speed')).rejects.toThrow(/Unknown benchmark speed. Use one of counts, throughput/)
  })
})
