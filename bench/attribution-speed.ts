import type { AttributionCosts } from './costs.ts'
import { runInWorkerd } from './in-workerd.ts'
import type { Benchmark } from './report.ts'
import { median, spreadOf } from './statistics.ts'

/** The rules' time limit for a typical trace. */
const GOAL_MS = 20

/** How long the rules take to analyze a trace, and what platform resources a whole run uses. */
export const attribution: Benchmark = async ({ isQuick }) => {
  const attributionLoad = isQuick ? { largeSpans: 50, times: 1 } : { largeSpans: 10_000, times: 20 }
  const tests = await runInWorkerd({ file: 'bench/worker/attribution.test.ts', provided: { attributionLoad } })
  const measured = tests.map((test): AttributionCosts => {
    const costs = test.meta().attribution
    if (!costs) throw new Error(`${test.name}: ${test.result().errors?.[0]?.message}`)
    return costs
  })
  return [
    {
      title: 'Attribution with the rules: processor time in workerd',
      notes: [
        'From reading the subject to the answer. Nothing is awaited, so elapsed time equals processor time.',
        'The first time includes compiling the code, as in a new isolate.',
        ...measured.flatMap(costs => costs.omitted.map(left => `For ${what(costs)}, the analysis leaves out ${left}.`)),
      ],
      measurements: measured.map((costs, index) => ({
        what: what(costs),
        value: median(costs.warmMs),
        unit: 'ms',
        spread: spreadOf(costs.warmMs),
        ...(index === 0 && { goal: { atMost: GOAL_MS } }),
        more: { 'the first time, ms': costs.firstMs, 'spans checked': costs.shownSpans, findings: costs.findings },
      })),
    },
    {
      title: 'Platform usage of one run, from the claim to the result',
      measurements: measured.map(costs => ({
        what: what(costs),
        more: {
          'D1 round trips': costs.run.d1RoundTrips,
          statements: costs.run.statements,
          'rows read': costs.run.rowsRead,
          'rows written': costs.run.rowsWritten,
          'R2 calls': costs.run.r2Calls,
        },
      })),
    },
  ]
}

const what = ({ spans, bytes }: AttributionCosts): string =>
  `a trace with ${spans.toLocaleString('en')} spans and ${Math.round(bytes / 1000).toLocaleString('en')} KB`
