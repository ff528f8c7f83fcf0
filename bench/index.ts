/**
 * `npm run bench`: measures what Countersign costs and how fast it is. Results are counts, and ratios between two
 * things that are measured side by side in one run. Absolute figures apply only to this machine.
 *
 *   --only <name>   runs only this benchmark; may be repeated
 *   --attack <text> for `neighbors`, runs only the attacks whose names contain this text
 *   --large         also measures reads with 1,000,000 traces
 *   --json          prints a single JSON document; use with `npm run --silent`
 *   --quick         shows within seconds that every benchmark runs; its figures are meaningless
 */
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { attribution } from './attribution-speed.ts'
import { batches } from './batches.ts'
import { bundle } from './bundle.ts'
import { capacity } from './capacity.ts'
import { counts } from './counts.ts'
import { detail } from './detail.ts'
import { exports } from './exports.ts'
import { memory } from './memory.ts'
import { neighbors } from './neighbors/index.ts'
import { type Benchmark, missedBy, type Section, tableOf } from './report.ts'
import { scale } from './scale.ts'
import { search } from './search.ts'
import { PROJECT } from './server.ts'
import { startup } from './startup.ts'
import { throughput } from './throughput.ts'
import { webhooks } from './webhooks.ts'

const benchmarks: Readonly<Record<string, Benchmark>> = {
  counts,
  throughput,
  batches,
  capacity,
  exports,
  webhooks,
  scale,
  search,
  detail,
  memory,
  neighbors,
  attribution,
  bundle,
  startup,
}

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: Object.keys(benchmarks) },
    attack: { type: 'string', default: '' },
    large: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})
const unknown = flags.only.find(name => !Object.hasOwn(benchmarks, name))
if (unknown !== undefined) {
  console.error(`Unknown benchmark ${unknown}. Use one of ${Object.keys(benchmarks).join(', ')}`)
  process.exit(1)
}
process.chdir(PROJECT)

// The local runtime also prints to stdout, for example when it reloads a Durable Object.
const print = process.stdout.write.bind(process.stdout)
if (flags.json) process.stdout.write = process.stderr.write.bind(process.stderr)

const [processor] = cpus()
const machine = { processor: processor?.model, cores: cpus().length, memoryBytes: totalmem(), node: process.version }
if (!flags.json) {
  console.log(
    `Measured on ${machine.cores} cores (${machine.processor}) with Node ${machine.node} and the local Workers runtime.`,
  )
  console.log('Ratios and counts also apply elsewhere; seconds and bytes of memory apply only to this machine.')
}

const sections: (Section & { benchmark: string })[] = []
for (const [name, run] of Object.entries(benchmarks)) {
  if (!flags.only.includes(name)) continue
  if (!flags.json) console.error(`\nMeasuring ${name} ...`)
  for (const section of await run({ isQuick: flags.quick, isLarge: flags.large, attack: flags.attack })) {
    sections.push({ benchmark: name, ...section })
    if (!flags.json) console.log(tableOf(section))
  }
}
if (flags.json) {
  const report = { measuredAt: new Date(), machine, isQuick: flags.quick, sections: sections.map(judged) }
  print(`${JSON.stringify(report, undefined, 2)}\n`)
}

/** Adds `missedBy` to those of a section's measurements that have a value and a goal. */
function judged({ measurements, ...section }: Section) {
  return {
    ...section,
    measurements: measurements.map(({ value, goal, ...measurement }) => ({
      value,
      goal,
      ...(value !== undefined && goal && { missedBy: missedBy(value, goal) }),
      ...measurement,
    })),
  }
}
