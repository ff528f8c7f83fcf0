import type { ExperimentReport } from '../../experiment.ts'
import type { Connection } from '../connection.ts'
import { counted } from '../counted.ts'
import { printGate } from '../gate.ts'
import type { Output } from '../output.ts'
import { shownLine } from '../shown-text.ts'
import type { ExperimentItem } from '../wire.ts'

/** How many errors are shown. */
const SHOWN_ERRORS = 3

/** Prints an experiment's report, for people. */
export async function printReport(out: Output, connection: Connection, report: ExperimentReport): Promise<void> {
  if (out.isJson) return
  const { id, counts, passRate, interval, durationMs, cost, errorTypes, splits, gate, url } = report
  await out.line(report.name ?? `Experiment ${id}`, 'strong')
  const rate =
    passRate === null || interval === null
      ? ''
      : `  ${percent(passRate)} passed (95%: ${percent(interval.low)} to ${percent(interval.high)})`
  await out.line(`  ${outcomesIn(counts)}`)
  if (rate) await out.line(rate)
  await out.line(
    `  ${counts.fixed} fixed, ${counts.regressed} regressed, compared with ${report.baseline === 'recorded' ? 'the recorded outputs' : `experiment ${report.baseline}`}`,
    counts.regressed > 0 ? 'bad' : 'plain',
  )
  if (splits.length > 1) {
    for (const { split, counts } of splits) await out.line(`  ${split}: ${outcomesIn(counts)}`)
  }
  for (const { errorType, counts } of errorTypes)
    await out.line(`  ${errorType}: ${counts.fixed} fixed, ${counts.stillWrong} still wrong`)
  if (durationMs.p50 !== null)
    await out.line(`  time: p50 ${Math.round(durationMs.p50)} ms, p95 ${Math.round(durationMs.p95 ?? 0)} ms`)
  if (cost) await out.line(`  cost: $${cost.usd}`)
  if (counts.error > 0) {
    const path = `/api/experiments/${id}/items?outcome=error&limit=${SHOWN_ERRORS}`
    const { items } = await connection.call<{ items: ExperimentItem[] }>(path, 'items')
    for (const { id, error } of items) await out.line(`  error on ${id}: ${shownLine(error ?? '', 300)}`, 'bad')
  }
  if (gate) {
    await printGate(out, gate)
    if (gate.experimentId !== null && gate.experimentId !== id) {
      await out.line(`  The gate uses a different experiment, ${gate.experimentId}.`)
    }
  }
  await out.line(url)
}

const outcomesIn = ({ passed, failed, unjudged, error }: ExperimentReport['counts']): string =>
  `${passed} passed, ${failed} failed, ${unjudged} unjudged, ${counted(error, 'error')}`

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`
