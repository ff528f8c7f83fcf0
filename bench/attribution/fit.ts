/**
 * `npm run fit:attribution [file ...]`: fits the rules' weights and temperature to labeled cases, and writes them to
 * `src/attribution/weights.json`. By default, the cases come from files in `cases/`.
 *
 *   --ablate   prints what each kind of finding contributes, instead of writing the file
 *
 * The model is a multinomial logistic regression. A penalty keeps weights small unless several cases require them.
 * Before the final fit, each author's cases are answered with weights fitted to the other authors' cases. (Our own
 * cases are treated as a single author's, and are split into folds.) These answers determine the temperature. Their
 * scores, which are printed, show what to expect for a new author's cases.
 */
import { writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import type { Finding } from '../../src/attribution/finding.ts'
import { attributeByRules, distributionOver, weighable } from '../../src/attribution/rules/engine.ts'
import { type BuiltInErrorType, findBuiltIn, TAXONOMY } from '../../src/attribution/taxonomy.ts'
import { FITTED, type FindingKind, type Fitted } from '../../src/attribution/weights.ts'
import type { Subject } from '../../src/domain/subject.ts'
import { type LabeledCase, readCases } from './cases.ts'
import { type Judged, linesOf } from './scores.ts'
import { subjectOfCase } from './subject-of-case.ts'

/** How strongly a weight is pulled toward 0. */
const PENALTY = 0.7
const STEPS = 250
const STEP_SIZE = 0.3
/** How many parts our own cases are split into for cross-validation. */
const FOLDS = 4
/** Smaller weights are noise and would only lengthen the table. */
const LEAST_WEIGHT = 0.25
const OWN_FILES = ['tuned', 'calibration', 'held-out', 'independent']
const INDEPENDENT = 'independent.jsonl'

const NONE: ReadonlySet<string> = new Set()
const TYPES: readonly BuiltInErrorType[] = TAXONOMY.map(({ errorType }) => errorType)
const NAMES: readonly string[] = TYPES
/** Where a fault appears and what was left out say nothing about its cause. */
const UNWEIGHED: readonly FindingKind[] = ['error_origin', 'left_out']

interface Example {
  labeled: LabeledCase
  /** The cases in a group are answered with weights that were fitted without that group. */
  group: string
  isIndependent: boolean
  subject: Subject
  findings: Finding[]
}

type Kinds = readonly FindingKind[]

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { ablate: { type: 'boolean', default: false } },
})
const own = OWN_FILES.map(name => resolve(import.meta.dirname, 'cases', `${name}.jsonl`))
const files = positionals.length > 0 ? positionals.map(file => resolve(process.env.INIT_CWD ?? '.', file)) : own
const examples = (await Promise.all(files.map(examplesIn))).flat()
const kinds = (Object.keys(FITTED.weights) as FindingKind[]).filter(kind => !UNWEIGHED.includes(kind))
const temperature = report(kinds)
if (flags.ablate) for (const kind of kinds) ablate(kind)
else await store({ weights: weightsOf(fitTable(examples, kinds), kinds), temperature })

async function examplesIn(file: string): Promise<Example[]> {
  const isIndependent = basename(file) === INDEPENDENT
  return (await readCases(file)).map((labeled, index) => {
    const subject = subjectOfCase(labeled)
    // The ids of other authors' cases start with the author's name.
    const group = isIndependent ? (labeled.id.split('-')[0] ?? '') : `${index % FOLDS}`
    return { labeled, group, isIndependent, subject, findings: findEvidence(subject) }
  })
}

/** The weights by kind and type, from gradient descent with a step size for each weight (Adagrad). */
function fitTable(cases: readonly Example[], kinds: Kinds): number[][] {
  const table = kinds.map(() => TYPES.map(() => 0))
  const squares = kinds.map(() => TYPES.map(() => 1e-8))
  const inputs = cases.map(({ labeled, findings }) => ({
    type: NAMES.indexOf(labeled.expected.error_type),
    strengths: weighable(findings).flatMap(({ kind, strength }) => {
      const index = kinds.indexOf(kind)
      return index < 0 ? [] : [[index, strength] as const]
    }),
  }))
  for (let step = 0; step < STEPS; step++) {
    const slope = table.map(row => row.map(weight => PENALTY * weight))
    for (const { type, strengths } of inputs) {
      const scores = TYPES.map((_, each) => strengths.reduce((sum, [kind, by]) => sum + by * at(table, kind, each), 0))
      const most = Math.max(...scores)
      const odds = scores.map(score => Math.exp(score - most))
      const total = odds.reduce((sum, each) => sum + each, 0)
      for (const [kind, strength] of strengths) {
        for (const [each, share] of odds.entries()) {
          const row = slope[kind]
          if (row) row[each] = (row[each] ?? 0) + strength * (share / total - (each === type ? 1 : 0))
        }
      }
    }
    for (const [kind, row] of table.entries()) {
      for (const type of row.keys()) {
        const square = at(squares, kind, type) + at(slope, kind, type) ** 2
        squares[kind]?.splice(type, 1, square)
        row[type] = (row[type] ?? 0) - (STEP_SIZE * at(slope, kind, type)) / Math.sqrt(square)
      }
    }
  }
  return table
}

function at(table: readonly (readonly number[])[], kind: number, type: number): number {
  return table[kind]?.[type] ?? 0
}

function weightsOf(table: readonly (readonly number[])[], kinds: Kinds): Fitted['weights'] {
  const rows = kinds.map((kind, index) => {
    const row = TYPES.map((type, each) => [type, Math.round(at(table, index, each) * 10) / 10] as const)
    return [kind, Object.fromEntries(row.filter(([, weight]) => Math.abs(weight) >= LEAST_WEIGHT))] as const
  })
  return Object.fromEntries([...UNWEIGHED.map(kind => [kind, {}] as const), ...rows])
}

/** Each case with the weights that were fitted without its group. */
function crossValidated(kinds: Kinds): { example: Example; weights: Fitted['weights'] }[] {
  return [...Map.groupBy(examples, ({ group }) => group)].flatMap(([group, cases]) => {
    const weights = weightsOf(
      fitTable(
        examples.filter(other => other.group !== group),
        kinds,
      ),
      kinds,
    )
    return cases.map(example => ({ example, weights }))
  })
}

/** The mean negative log probability of the right type. */
function lossAt(temperature: number, cases: ReturnType<typeof crossValidated>): number {
  const losses = cases.map(({ example: { labeled, findings }, weights }) => {
    const candidates = distributionOver(weighable(findings), NONE, { weights, temperature })
    const right = candidates.find(({ errorType }) => errorType === labeled.expected.error_type)
    return -Math.log(right?.probability ?? 0)
  })
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}

/** Prints the cross-validated scores. Returns the best temperature. */
function report(kinds: Kinds): number {
  const all = crossValidated(kinds)
  const others = all.filter(({ example }) => example.isIndependent)
  const [temperature = 1] = Array.from({ length: 40 }, (_, step) => 0.6 + step * 0.05).toSorted(
    (left, right) => lossAt(left, all) - lossAt(right, all),
  )
  console.log(`${examples.length} cases, ${kinds.length} kinds of findings, temperature ${temperature.toFixed(2)}.`)
  const groups = Map.groupBy(all, ({ example }) => (example.isIndependent ? example.group : 'ours'))
  for (const [name, cases] of [...groups, ['all cases by others', others] as const]) {
    const judged = cases.map(({ example, weights }) => judge(example, { weights, temperature }))
    if (judged.length > 0) print(name, judged, lossAt(temperature, cases))
  }
  return temperature
}

function judge({ labeled, subject, findings }: Example, fitted: Fitted): Judged {
  const { errorType, confidence, spanId } = attributeByRules(subject, findings, NONE, fitted)
  const step = subject.steps.find(each => each.spanId === spanId)
  const span = step && !step.isRoot ? step.stepId : null
  const category = findBuiltIn(errorType)?.category ?? ''
  return { labeled, answer: { errorType, category, confidence, span, engine: 'rules', durationMs: 0 } }
}

function print(name: string, judged: readonly Judged[], loss: number): void {
  console.log(`${name}: ${judged.length} cases, log loss ${loss.toFixed(3)}`)
  for (const line of linesOf(judged)) console.log(line)
}

/** Prints how much worse the cross-validated answers get if a kind of finding is left out. */
function ablate(kind: FindingKind): void {
  const loss = (kinds: Kinds, isIndependent: boolean) =>
    lossAt(
      temperature,
      crossValidated(kinds).filter(({ example }) => example.isIndependent === isIndependent),
    )
  const rest = kinds.filter(other => other !== kind)
  const [ours, others] = [false, true].map(each => loss(rest, each) - loss(kinds, each))
  console.log(`${kind}: log loss ${ours?.toFixed(3)} for our cases, ${others?.toFixed(3)} for cases by others`)
}

async function store(fitted: Fitted): Promise<void> {
  const rounded = { ...fitted, temperature: Number(fitted.temperature.toFixed(2)) }
  const lines = Object.entries(rounded.weights).map(([kind, row]) => `    "${kind}": ${JSON.stringify(row)}`)
  const text = `{\n  "temperature": ${rounded.temperature},\n  "weights": {\n${lines.join(',\n')}\n  }\n}\n`
  await writeFile(resolve(import.meta.dirname, '../../src/attribution/weights.json'), text)
}
