import type { Json } from '../../../domain/json.ts'
import { OutputChecks } from '../../../domain/output-schema.ts'
import type { Step } from '../../../domain/subject.ts'
import { atOnce } from '../../../domain/turns.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { hasTerms, termsOfValue } from '../../text/terms.ts'
import type { FindingKind } from '../../weights.ts'
import { type Change, isNothing, similarity } from '../difference.ts'
import type { MainDispute } from '../dispute.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'

/** Checks the output against its schema, and determines what kind of change the correction is. */
export function* checkShape({ dispute, origin, subject }: Scene): Generator<Finding> {
  const checks = new OutputChecks()
  for (const step of new Set([origin, dispute?.step, ...subject.steps])) {
    const fault = step && schemaFault(step, checks)
    if (!fault) continue
    const path = fault.path.replace(/\.(\d+)(?=\.|$)/gu, '[$1]')
    const note = `violates the step's outputSchema: ${fault.message.replace(/\.$/u, '')}`
    yield { kind: 'schema_broken', spanId: step.spanId, path, note, strength: 1 }
    break
  }
  if (dispute) yield* checkChanges(dispute)
}

/** The first violation of a step's output schema. Undefined if there is none, or if the schema can't be checked. */
function schemaFault({ prompt, output, hasOutput }: Step, checks: OutputChecks) {
  if (!prompt?.outputSchema || !hasOutput || isNothing(output)) return undefined
  const [schema, value] = [JSON.stringify(prompt.outputSchema), JSON.stringify(output)]
  spend((schema.length + value.length) / 4)
  const result = atOnce(checks.check(schema, value, 'output'))
  return 'unchecked' in result ? undefined : result.faults[0]
}

function* checkChanges({ step, approved, difference }: MainDispute): Generator<Finding> {
  const found = (kind: FindingKind, { path }: Pick<Change, 'path'>, note: string, strength = 1): Finding => ({
    kind,
    spanId: step.spanId,
    path: path === '' ? 'output' : `output.${path}`,
    note,
    strength,
  })
  const whole = { path: '' }
  const isBlank = isNothing(step.output)
  if (!difference || approved === undefined) {
    yield found('no_correction', whole, 'was disputed, but nobody said what it should be')
    return
  }
  const { changes, formatChanges, lost, gained } = difference
  const [first] = changes
  const [change] = formatChanges
  if (!first && change) {
    const note = `means the same as the approved ${quote(change.after)} but is formatted differently`
    yield found('only_format_changed', change, note)
  }
  if (!first || isBlank) return
  const isGaining = !hasTerms(lost) && hasTerms(gained)
  if (changes.every(({ before, after }) => isExtended(before, after) || (isGaining && isProse(before)))) {
    // If only null fields were filled in, the correction says more about the input than about the output.
    if (changes.some(({ before }) => before !== null))
      yield found('only_added', first, `is unchanged, but the approved output adds ${quote(first.after)}`)
  } else {
    const changed = ({ before, after }: Change) => `was corrected from ${quote(before)} to ${quote(after)}`
    const numbers = changes.filter(isEach(isNumeric))
    const texts = changes.filter(isEach(isProse))
    const label = changes.find(isEach(value => isLabel(value) && !isNumeric(value)))
    const [[number], [text]] = [numbers, texts]
    const share = numbers.length / Math.max(1, changes.length - texts.length)
    if (number) yield found('number_changed', number, changed(number), Math.min(1, share))
    else if (label) yield found('label_changed', label, changed(label))
    const isReworded = lost.facts.length + gained.facts.length === 0
    if (text && texts.length === changes.length && isReworded) {
      const note = 'has every number, date, and name in the approved text; only the wording differs'
      const likeness = similarity(termsOfValue(text.before ?? null), termsOfValue(text.after ?? null))
      yield found('reworded', text, note, likeness)
    }
  }
}

const isEach =
  (test: (value: Json | undefined) => boolean) =>
  ({ before, after }: Change): boolean =>
    test(before) && test(after)

const isNumeric = (value: Json | undefined): boolean => {
  if (typeof value === 'number') return true
  if (typeof value !== 'string' || value.length > 40) return false
  const { facts, words } = termsOfValue(value)
  return facts.length > 0 && words.size <= 1 && facts.every(({ kind }) => kind !== 'address' && kind !== 'identifier')
}

const isLabel = (value: Json | undefined): boolean =>
  value === null ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && value.length <= 40 && wordCount(value) <= 3)

const isProse = (value: Json | undefined): boolean =>
  typeof value === 'string' &&
  (wordCount(value) > 3 || value.length > 40 || /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}]{6}/u.test(value))

function wordCount(text: string): number {
  spend(text.length)
  return text.split(/[\s_-]+/u).filter(word => word !== '').length
}

/** Whether a value was added, or a string was extended. */
function isExtended(before: Json | undefined, after: Json | undefined): boolean {
  if (isNothing(before)) return true
  if (typeof before !== 'string' || typeof after !== 'string' || after.length <= before.length) return false
  const stem = before.trim().replace(/(?<![\p{P}\s])[\p{P}\s]+$/u, '')
  return stem.length >= 3 && after.includes(stem)
}
