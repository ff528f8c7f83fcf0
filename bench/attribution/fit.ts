/**
 * `npm run fit:attribution [file ...]`: fits the rules' weights to labeled cases (by default the tuned ones next to
 * this file) and their temperature to the calibration cases, and writes both to `src/attribution/weights.json`.
 * Held-out cases are only for `npm run bench:attribution`.
 *
 * A multinomial logistic regression by gradient descent. Each weight is pulled back to its value in `priors.ts`, or in
 * `weights.json` for a kind that isn't there, so a few cases move it little, and a weight that no case involves keeps
 * its hand-set value. The checks were written with the tuned cases in view, so only unseen cases show how confident the
 * answers may be.
 */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import { weighable } from '../../src/attribution/rules/engine.ts'
import { type BuiltInErrorType, TAXONOMY } from '../../src/attribution/taxonomy.ts'
import { type FindingKind, WEIGHTS } from '../../src/attribution/weights.ts'
import { type LabeledCase, readCases } from './cases.ts'
import { PRIORS } from './priors.ts'
import { subjectOfCase } from './subject-of-case.ts'

/** How strongly a weight is pulled back to its prior. */
const PRIOR_STRENGTH = 2
const STEPS = 600
const STEP_SIZE = 0.04
/** Smaller weights are noise and would only lengthen the table. */
const LEAST_WEIGHT = 0.15

const TYPES: readonly BuiltInErrorType[] = TAXONOMY.map(({ errorType }) => errorType)
const NAMES: readonly string[] = TYPES
/** Where a fault appears says nothing about its cause, so these kinds aren't fitted. */
const KINDS: readonly FindingKind[] = (Object.keys(WEIGHTS) as FindingKind[]).filter(
  kind => kind !== 'error_origin' && kind !== 'left_out',
)

interface Example {
  /** Index in `TYPES`. */
  type: number
  /** Strengths by index in `KINDS`. */
  strengths: readonly (readonly [kind: number, strength: number])[]
}

type Table = number[][]

const files = process.argv.length > 2 ? process.argv.slice(2) : [resolve(import.meta.dirname, 'cases/tuned.jsonl')]
const examples = (await Promise.all(files.map(readCases))).flat().map(exampleOf)
const priors: Table = KINDS.map(kind => TYPES.map(type => (PRIORS[kind] ?? WEIGHTS[kind])[type] ?? 0))

const table = fitted(examples)
const calibration = (await readCases(resolve(import.meta.dirname, 'cases/calibration.jsonl'))).map(exampleOf)
const answers = calibration.map(({ type, strengths }) => ({ type, scores: scoresOf(table, strengths) }))
const [temperature = 1] = [...Array(40).keys()]
  .map(step => 0.6 + step * 0.05)
  .toSorted((left, right) => loss(answers, left) - loss(answers, right))
const right = answers.filter(({ type, scores }) => scores.indexOf(Math.max(...scores)) === type).length
console.log(`Fitted to ${examples.length} cases. Of the ${answers.length} for calibration, ${right} are right;`)
console.log(`temperature ${temperature.toFixed(2)}, log loss ${loss(answers, temperature).toFixed(3)}.`)
await store(table, temperature)

function exampleOf(labeled: LabeledCase): Example {
  const findings = weighable(findEvidence(subjectOfCase(labeled)))
  return {
    type: NAMES.indexOf(labeled.expected.error_type),
    strengths: findings.flatMap(({ kind, strength }) =>
      KINDS.includes(kind) ? [[KINDS.indexOf(kind), strength] as const] : [],
    ),
  }
}

function fitted(cases: readonly Example[]): Table {
  const table = priors.map(row => [...row])
  for (let step = 0; step < STEPS; step++) {
    const slope = table.map((row, kind) =>
      row.map((weight, type) => PRIOR_STRENGTH * (weight - (priors[kind]?.[type] ?? 0))),
    )
    for (const { type, strengths } of cases) {
      const likelihoods = softmax(scoresOf(table, strengths), 1)
      for (const [kind, strength] of strengths) {
        const row = slope[kind]
        if (row)
          for (const [each, likelihood] of likelihoods.entries())
            row[each] = (row[each] ?? 0) + strength * (likelihood - (each === type ? 1 : 0))
      }
    }
    for (const [kind, row] of table.entries()) {
      for (const type of row.keys()) row[type] = (row[type] ?? 0) - STEP_SIZE * (slope[kind]?.[type] ?? 0)
    }
  }
  return table
}

function scoresOf(table: Table, strengths: Example['strengths']): number[] {
  return TYPES.map((_, type) =>
    strengths.reduce((sum, [kind, strength]) => sum + strength * (table[kind]?.[type] ?? 0), 0),
  )
}

function softmax(scores: readonly number[], temperature: number): number[] {
  const most = Math.max(...scores)
  const odds = scores.map(score => Math.exp((score - most) / temperature))
  const total = odds.reduce((sum, each) => sum + each, 0)
  return odds.map(each => each / total)
}

/** The mean negative log probability of the right type. */
function loss(answers: readonly { type: number; scores: readonly number[] }[], temperature: number): number {
  const sum = answers.reduce((total, { type, scores }) => total - Math.log(softmax(scores, temperature)[type] ?? 0), 0)
  return sum / answers.length
}

/** Writes the table and the temperature to the file, and keeps the rows that aren't fitted. */
async function store(table: Table, temperature: number): Promise<void> {
  const rows = KINDS.map((kind, index) => {
    const weights = TYPES.map((type, each) => [type, Math.round((table[index]?.[each] ?? 0) * 10) / 10] as const)
    const row = weights
      .filter(([, weight]) => Math.abs(weight) >= LEAST_WEIGHT)
      .toSorted(([, left], [, right]) => right - left)
    return [kind, Object.fromEntries(row)]
  })
  const fitted = { temperature: Number(temperature.toFixed(2)), weights: { ...WEIGHTS, ...Object.fromEntries(rows) } }
  const file = resolve(import.meta.dirname, '../../src/attribution/weights.json')
  await writeFile(file, `${JSON.stringify(fitted, null, 2)}\n`)
}
