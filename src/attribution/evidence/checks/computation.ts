import type { Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { derive, groupsIn, isUncounted, numbersIn } from '../arithmetic.ts'
import type { Scene } from '../scene.ts'
import { fieldOf, locationOf } from '../sources.ts'

/** Checks which of the changed numbers follow from the values that the step received. */
export function* checkComputation(scene: Scene): Generator<Finding> {
  const { dispute, origin, visible, prompts } = scene
  const changes = numberChanges(scene)
  yield* checkTypos(scene)
  if (dispute?.approved === undefined) return
  const { approved } = dispute
  const { output } = dispute.step
  const values = visible.filter(({ kind }) => kind !== 'metadata').map(({ value }) => value)
  const given = [...values, ...prompts.map(({ value }) => value)]
  const numbers = given.flatMap(numbersIn)
  const groups = given.flatMap(value => [...groupsIn(value)])
  const at = { spanId: origin.spanId, path: 'output' }
  for (const { before, after } of changes) {
    const isBeforeGiven = before !== undefined && numbers.includes(before)
    const isAfterGiven = numbers.includes(after)
    // If the step received both numbers, only the output's other numbers show which one is right.
    const follows = (number: number, answer: Json) =>
      derive(number, [...groupsIn(answer), ...(isBeforeGiven && isAfterGiven ? [] : groups)])
    const right = follows(after, approved)
    const wrong = before === undefined ? undefined : follows(before, output)
    if (right && isBeforeGiven && !isAfterGiven) {
      const note = `repeats ${before} from the input, but ${after} is ${right}`
      yield { kind: 'input_does_not_add_up', ...at, note, strength: 1 }
    } else if (right && !wrong && before !== undefined) {
      yield { kind: 'correction_computes', ...at, note: `is wrong: ${after} is ${right}`, strength: 1 }
    } else if (wrong && !right) {
      const note = `matches the numbers: ${before} is ${wrong}, but ${after} is not`
      yield { kind: 'output_computes', ...at, note, strength: isAfterGiven ? 1 : 0.6 }
    } else continue
    return
  }
}

/** Finds a mistyped number in the input: one that resembles the right number. */
function* checkTypos({ dispute, visible }: Scene): Generator<Finding> {
  const right = [...numbersIn(dispute?.approved ?? null), ...(dispute?.comments.flatMap(numbersIn) ?? [])]
  const wanted = [...new Set(right)].filter(number => !visible.some(({ readings }) => readings.has(`n:${number}`)))
  for (const source of visible) {
    if (source.kind !== 'input' && !(source.kind === 'state' && source.step?.isRoot)) continue
    const given = [...new Set(numbersIn(source.value))].slice(0, MAX_GIVEN)
    const pairs = wanted.slice(0, MAX_GIVEN).flatMap(implied => given.map(operand => ({ operand, implied })))
    const slip = pairs.find(isTypo)
    if (!slip) continue
    const note = `says ${slip.operand}, but the approved output needs ${slip.implied}`
    yield { kind: 'input_slip', ...locationOf(source), note, strength: 1 }
    return
  }
}

/** How many numbers in a source to search for typos. */
const MAX_GIVEN = 60

/** Whether two numbers have the same digits in another order, or differ by a shifted decimal point. */
function isTypo({ operand, implied }: { operand: number; implied: number }): boolean {
  if (operand <= 0 || implied <= 0 || operand === implied) return false
  spend(10)
  const [left, right] = [operand, implied].map(number =>
    String(number)
      .replace(/^[0.]+|\.?0+$/gu, '')
      .replace('.', ''),
  )
  if (left === right) return (left?.length ?? 0) >= 2
  const sorted = (number: number) => [...String(number)].sort().join('')
  return String(operand).length >= 3 && sorted(operand) === sorted(implied)
}

/** The numbers that were changed to other numbers. `before` is undefined if the output had no number there. */
const numberChanges = ({ dispute }: Scene): { before: number | undefined; after: number }[] =>
  (dispute?.difference?.changes ?? []).flatMap(({ path, before, after }) => {
    if (isUncounted(fieldOf(path))) return []
    const [left, right] = [onlyNumber(before), onlyNumber(after)]
    return right !== undefined && left !== right ? [{ before: left, after: right }] : []
  })

function onlyNumber(value: Json | undefined): number | undefined {
  const numbers = value === undefined ? [] : numbersIn(value)
  return numbers.length === 1 ? numbers[0] : undefined
}
