import { differenceOf, similarity } from './difference.ts'
import type { Dispute } from './dispute.ts'
import { impliedOperand, numbersIn } from './arithmetic.ts'
import { type Source, supportOf } from './scene.ts'
import type { Step, Subject } from './subject.ts'
import { numberFact, type Terms, termsOfValue } from './terms.ts'

/** How much of what was corrected an earlier output must hold to have brought it. */
const CARRIES = 0.6

/**
 * The earliest step whose own output carries what was objected to: an error travels, and blame does not. A value that was
 * computed from a wrong one travels, too.
 */
export function originOf(dispute: Dispute, subject: Subject, visibleTo: (step: Step) => Source[]): Step {
  const { step, difference, approved } = dispute
  const earlier = visibleTo(step).filter(
    ({ kind, path, step: owner }) => kind === 'output' && path === 'output' && owner !== null && isOpen(owner),
  )
  const output = termsOfValue(step.output)
  const isCopy = (terms: Terms) => output.words.size + output.facts.length > 0 && similarity(output, terms) >= 0.8
  const { lost, gained } = difference ?? { lost: EMPTY, gained: EMPTY }
  const isReplaced = gained.words.size + gained.facts.length > 0
  const carries = ({ terms, step: owner, value }: Source): boolean => {
    if (isCopy(terms)) return true
    if (!difference || approved === undefined || !owner) return false
    const asSource: Source[] = [{ kind: 'output', step: owner, path: 'output', value, terms, readings: readingsOf(terms) }]
    const held = supportOf(lost, asSource)
    if (held.weight < 1 || held.found < CARRIES) return false
    // What holds the right value beside the wrong one is what the step chose from.
    if (isReplaced && supportOf(gained, asSource).found >= 0.5) return false
    return isReplaced ? supportOf(lost, visibleTo(owner)).found < CARRIES || isChanged(value, dispute) : false
  }
  const first = earlier.filter(carries).sort(byTime)[0]?.step
  return first ?? recomputed(dispute, earlier, subject) ?? step
}

/** Nobody said that its output was right. */
const isOpen = ({ review }: Step): boolean => review?.state !== 'accepted'

const EMPTY: Terms = { facts: [], words: new Map() }

const readingsOf = ({ facts }: Terms) => new Set(facts.flatMap(({ readings }) => readings))

const byTime = ({ step: left }: Source, { step: right }: Source): number =>
  (left?.timestamp ?? 0) - (right?.timestamp ?? 0)

/** Whether a value has fields of the disputed output which the correction changes. */
function isChanged(value: Source['value'], { approved }: Dispute): boolean {
  if (approved === undefined || typeof value !== 'object' || typeof approved !== 'object') return false
  const difference = differenceOf(value, approved)
  return difference.similarity > 0 && difference.changes.length > 0
}

/** The step that gave a number of which the disputed one was computed properly, where another number gives the approved one. */
function recomputed({ step, difference }: Dispute, earlier: readonly Source[], _subject: Subject): Step | undefined {
  for (const { before, after } of difference?.changes ?? []) {
    if (typeof before !== 'number' || typeof after !== 'number') continue
    for (const { operand, implied } of impliedOperand(before, after, numbersIn(step.input))) {
      const giver = earlier
        .filter(({ readings }) => numberFact('', operand).readings.some(reading => readings.has(reading)))
        .sort(byTime)[0]
      if (giver?.step && !giver.readings.has(`n:${implied}`)) return giver.step
    }
  }
  return undefined
}
