/**
 * `npm run bench:attribution [file ...]`: how often the engine names the right category, type, and span. Posts labeled
 * cases through the public API into a fresh tenant. Without a file, uses the cases next to this one. The held-out ones
 * were never used for tuning.
 *
 *   --cases   prints each wrong answer
 *   --json    prints a single JSON document; use with `npm run --silent`
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from '../client.ts'
import { ADMIN_TOKEN, migrate, startServer } from '../server.ts'
import { type LabeledCase, readCases } from './cases.ts'
import { type CaseAnswer, postCase } from './post.ts'
import { calibrationError, calibrationOf, confusionOf, type Judged, scoresOf } from './scores.ts'

/** How many cases are posted at the same time. */
const PARALLEL = 4

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { cases: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
})
const own = ['tuned', 'calibration', 'held-out'].map(name => resolve(import.meta.dirname, 'cases', `${name}.jsonl`))
const files = positionals.length > 0 ? positionals.map(file => resolve(process.env.INIT_CWD ?? '.', file)) : own
const cases = (await Promise.all(files.map(readCases))).flat()
const judged = await judge(cases)
if (flags.json) console.log(JSON.stringify(reports(judged), undefined, 2))
else for (const [split, all] of bySplit(judged)) print(split, all)

async function judge(cases: readonly LabeledCase[]): Promise<Judged[]> {
  const worker = 'countersign'
  await using server = await startServer([{ name: worker, program: 'countersign', database: 'cases' }], {
    consumesJobs: true,
  })
  await migrate(await server.databaseOf(worker))
  const admin = new Client(await server.urlOf(worker), { authorization: `Bearer ${ADMIN_TOKEN}` })
  const made = await admin.call('POST', '/api/orgs', { slug: 'cases', name: 'Labeled cases' })
  const owner = admin.with({ 'x-api-key': JSON.parse(made.body).apiKey.key })
  const answers = new Map<LabeledCase, CaseAnswer>()
  const waiting = [...cases.entries()]
  const post = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, labeled] = next
      answers.set(labeled, await postCase(owner, `case-${index + 1}`, labeled))
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, post))
  return cases.flatMap(labeled => {
    const answer = answers.get(labeled)
    return answer ? [{ labeled, answer }] : []
  })
}

function bySplit(judged: readonly Judged[]): Map<string, Judged[]> {
  return Map.groupBy(judged, ({ labeled }) => labeled.split)
}

function reports(judged: readonly Judged[]) {
  return [...bySplit(judged)].map(([split, all]) => ({
    split,
    scores: scoresOf(all),
    calibrationError: calibrationError(all),
    calibration: calibrationOf(all),
    confusion: confusionOf(all),
  }))
}

function print(split: string, all: readonly Judged[]): void {
  const { cases, category, type, span, macroF1 } = scoresOf(all)
  const [engine] = new Set(all.map(({ answer }) => answer.engine))
  console.log(`\n${split}: ${cases} cases, answered by ${engine}`)
  console.log(`  category ${text(category)}   type ${text(type)} (macro-F1 ${text(macroF1)})   span ${text(span)}`)
  console.log(`\n  expected${' '.repeat(22)}answered`)
  for (const { expected, answered } of confusionOf(all)) {
    const answers = Object.entries(answered).map(([type, count]) => `${type} ${count}`)
    console.log(`  ${expected.padEnd(30)}${answers.join(', ')}`)
  }
  console.log(`\n  confidence   answers   mean   right   (expected calibration error ${text(calibrationError(all))})`)
  for (const { from, count, confidence, right } of calibrationOf(all)) {
    console.log(
      `  ${from.toFixed(1)} to ${(from + 0.1).toFixed(1)}   ${String(count).padStart(7)}   ${text(confidence)}   ${text(right)}`,
    )
  }
  if (!flags.cases) return
  console.log('')
  for (const { labeled, answer } of all) {
    const { error_type, span } = labeled.expected
    if (answer.errorType === error_type && answer.span === span) continue
    console.log(
      `  ${labeled.id}: ${error_type} at ${span}; answered ${answer.errorType} (${answer.confidence}) at ${answer.span}`,
    )
  }
}

function text(share: number): string {
  return share.toFixed(2)
}
