import { isJsonObject, type Json } from '../../../domain/json.ts'
import { OutputChecks } from '../../../domain/output-schema.ts'
import type { Step } from '../../../domain/subject.ts'
import { atOnce } from '../../../domain/turns.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { hasTerms, termsOfValue } from '../../text/terms.ts'
import { type Change, type Difference, isNothing } from '../difference.ts'
import { languageOf } from '../language.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote, textsIn } from '../sources.ts'

/**
 * Checks how the approved output differs from the output: in format, a label, a number, wording, or added or removed
 * content.
 */
export function* checkShape(scene: Scene): Generator<Finding> {
  const { dispute } = scene
  yield* checkSchema(scene)
  if (!dispute) return
  const { step, approved, difference } = dispute
  if (isNothing(step.output)) yield { kind: 'output_empty', ...at(step, ''), note: 'is empty', strength: 1 }
  if (!difference || approved === undefined) {
    const note = 'was disputed, but nobody said what it should be'
    yield { kind: 'no_correction', ...at(step, ''), note, strength: 1 }
    return
  }
  const change = { step, approved, difference, kinds: kindsOf(difference.changes) }
  const found = formatChange(change) ?? (isNothing(step.output) ? undefined : uniformChange(change))
  if (found) yield found
  if (found || isNothing(step.output)) return
  yield* checkNumbers(change)
  yield* checkLabels(change)
  yield* checkTexts(change)
  yield* checkForm(change)
  yield* checkExtent(change)
}

/** An output, its approved version, and how they differ. */
interface Correction {
  step: Step
  approved: Json
  difference: Difference
  kinds: Kinds
}

/** Changes, grouped by kind of value. */
interface Kinds {
  leaves: Change[]
  numbers: Change[]
  labels: Change[]
  texts: Change[]
}

function kindsOf(changes: readonly Change[]): Kinds {
  const leaves = changes.filter(({ before, after }) => isScalar(before) && isScalar(after))
  return {
    leaves,
    numbers: leaves.filter(({ before, after }) => isNumeric(before) && isNumeric(after)),
    labels: leaves.filter(({ before, after }) => isLabel(before) && isLabel(after) && !isNumeric(after)),
    texts: leaves.filter(({ before, after }) => isProse(before) && isProse(after)),
  }
}

const at = ({ spanId }: Step, path: string) => ({ spanId, path: path === '' ? 'output' : `output.${path}` })

/** Reports the first output that doesn't match its step's schema. */
function* checkSchema({ dispute, origin, subject }: Scene): Generator<Finding> {
  const checks = new OutputChecks()
  for (const broken of subject.steps) {
    const [fault] = schemaFaults(broken, checks)
    if (!fault) continue
    const isDisputed = broken === origin || broken === dispute?.step
    yield {
      kind: isDisputed ? 'schema_broken' : 'schema_broken_elsewhere',
      spanId: broken.spanId,
      path: fault.path.replace(/\.(\d+)(?=\.|$)/gu, '[$1]'),
      note: `violates the step's outputSchema: ${fault.message.replace(/\.$/u, '')}`,
      strength: 1,
    }
    return
  }
}

/** Reports a correction that doesn't change the output's meaning. */
function formatChange({ step, approved, difference }: Correction): Finding | undefined {
  const { changes, formatChanges, isReordered, isNone } = difference
  if (isReordered) {
    const note = 'has the same items as the approved output in a different order'
    return { kind: 'order_changed', ...at(step, ''), note, strength: 1 }
  }
  if (changes.length > 0) return undefined
  const [change] = formatChanges
  return {
    kind: 'only_format_changed',
    ...at(step, change?.path ?? ''),
    note: `means the same as the approved ${quote(change?.after ?? approved)} but is formatted differently`,
    strength: isNone ? 0.3 : 1,
  }
}

/**
 * Reports a correction that only adds, only removes, or translates. There is then no need to check individual values.
 */
function uniformChange({ step, approved, difference }: Correction): Finding | undefined {
  const { changes, lost, gained } = difference
  const [first] = changes
  const place = at(step, first?.path ?? '')
  const isGaining = !hasTerms(lost) && hasTerms(gained)
  const isLosing = !hasTerms(gained) && hasTerms(lost)
  const isAdded = ({ before, after }: Change) =>
    isNothing(before) || isExtended(before, after) || (isGaining && isProse(before))
  const isRemoved = ({ before, after }: Change) =>
    isNothing(after) || isExtended(after, before) || (isLosing && isProse(before))
  if (changes.every(isAdded)) {
    const isFilled = changes.every(({ before }) => before === null)
    const note = `is unchanged, but the approved output adds ${quote(first?.after)}`
    return { kind: isFilled ? 'field_filled' : 'only_added', ...place, note, strength: 1 }
  }
  if (changes.every(isRemoved))
    return { kind: 'only_removed', ...place, note: 'is unchanged except for removed content', strength: 1 }
  const [spoken, wanted] = [languageOf(step.output), languageOf(approved)]
  if (!spoken || !wanted || spoken === wanted) return undefined
  const note = 'is in a different language than the approved output'
  return { kind: 'language_changed', ...at(step, ''), note, strength: 1 }
}

const wasChanged = ({ before, after }: Change): string => `was corrected from ${quote(before)} to ${quote(after)}`

function* checkNumbers({ step, difference, kinds }: Correction): Generator<Finding> {
  const { numbers, texts } = kinds
  const [number] = numbers
  if (!number) return
  const share = numbers.length / Math.max(1, difference.changes.length - texts.length)
  yield { kind: 'number_changed', ...at(step, number.path), note: wasChanged(number), strength: Math.min(1, share) }
}

function* checkLabels({ step, kinds }: Correction): Generator<Finding> {
  const [label] = kinds.labels
  if (!label || kinds.numbers.length > 0) return
  const isChoice = isBoolean(label.before) || choicesOf(step, label.path) !== undefined
  const kind = isChoice ? 'choice_changed' : 'label_changed'
  yield { kind, ...at(step, label.path), note: wasChanged(label), strength: 1 }
}

function* checkTexts({ step, difference, kinds }: Correction): Generator<Finding> {
  const { changes, lost, gained, similarity } = difference
  const [text] = kinds.texts
  if (text && kinds.texts.length === changes.length) {
    const place = at(step, text.path)
    const hasSameFacts = lost.facts.length + gained.facts.length === 0
    if (hasSameFacts && isSwapped(text)) {
      const note = 'has the numbers and names from the approved text, but in a different order'
      yield { kind: 'values_swapped', ...place, note, strength: 1 }
    } else if (hasSameFacts) {
      const note = 'has every number, date, and name in the approved text; only the wording differs'
      yield { kind: 'reworded', ...place, note, strength: similarity }
    }
    if (similarity < 0.35) {
      const note = 'has almost nothing in common with the approved text'
      yield { kind: 'rewritten', ...place, note, strength: 1 - similarity / 0.35 }
    }
  } else if (similarity < 0.2 && kinds.leaves.length < changes.length) {
    const note = 'has almost nothing in common with the approved output'
    yield { kind: 'rewritten', ...at(step, changes[0]?.path ?? ''), note, strength: 1 - similarity / 0.2 }
  }
}

function* checkForm({ step, approved }: Correction): Generator<Finding> {
  const [form, wanted] = [formOf(step.output), formOf(approved)]
  if (form === undefined || wanted === undefined || form === wanted) return
  yield { kind: 'form_changed', ...at(step, ''), note: `is ${form}, but the approved output is ${wanted}`, strength: 1 }
}

/** Reports how much of the output was changed. */
function* checkExtent({ step, difference: { changes }, kinds }: Correction): Generator<Finding> {
  const [first] = changes
  const [number] = kinds.numbers
  if (changes.length >= 2 && kinds.leaves.length >= 2) {
    const note = `differs in ${changes.length} places`
    yield { kind: 'many_changes', ...at(step, first?.path ?? ''), note, strength: Math.min(1, changes.length / 6) }
  }
  const kept = keptShare(step.output, changes.length)
  if (kept > 0.5 && number && changes.length <= 2) {
    const note = 'is the only changed value; the other fields were approved'
    yield { kind: 'rest_kept', ...at(step, number.path), note, strength: kept }
  }
}

/** Violations of a step's output schema. Empty if the schema can't be checked. */
function schemaFaults({ prompt, output, hasOutput }: Step, checks: OutputChecks) {
  if (!prompt?.outputSchema || !hasOutput || isNothing(output)) return []
  const [schema, value] = [JSON.stringify(prompt.outputSchema), JSON.stringify(output)]
  spend((schema.length + value.length) / 4)
  const result = atOnce(checks.check(schema, value, 'output'))
  return 'unchecked' in result ? [] : result.faults
}

/** Whether two strings have the same facts in a different order. */
function isSwapped({ before, after }: Change): boolean {
  const sequence = (value: Json | undefined) =>
    termsOfValue(value ?? null)
      .facts.map(({ readings }) => readings[0])
      .join(' ')
  return sequence(before) !== sequence(after)
}

const isScalar = (value: Json | undefined): boolean =>
  value !== undefined && (value === null || typeof value !== 'object')
const isBoolean = (value: Json | undefined): boolean => typeof value === 'boolean'

const isNumeric = (value: Json | undefined): boolean => {
  if (typeof value === 'number') return true
  if (typeof value !== 'string' || value.length > 40) return false
  const { facts, words } = termsOfValue(value)
  return facts.length > 0 && words.size <= 1 && facts.every(({ kind }) => kind !== 'address' && kind !== 'identifier')
}

const isLabel = (value: Json | undefined): boolean =>
  typeof value === 'boolean' ||
  value === null ||
  (typeof value === 'string' && value.length <= 40 && wordCount(value) <= 3)

const isProse = (value: Json | undefined): boolean =>
  typeof value === 'string' &&
  (wordCount(value) > 3 || value.length > 40 || /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}]{6}/u.test(value))

function wordCount(text: string): number {
  spend(text.length)
  return text.split(/[\s_-]+/u).filter(word => word !== '').length
}

/** Whether one string extends another at its start or end. */
function isExtended(before: Json | undefined, after: Json | undefined): boolean {
  if (typeof before !== 'string' || typeof after !== 'string' || after.length <= before.length) return false
  const stem = before.trim().replace(/(?<![\p{P}\s])[\p{P}\s]+$/u, '')
  if (stem.length < 3) return false
  return after.includes(stem)
}

/** Describes the form of a string. Undefined if the value isn't a string. */
function formOf(value: Json): string | undefined {
  const texts = textsIn(value).flatMap(text => (isProse(text) ? [text.trim()] : []))
  if (texts.length === 0) return undefined
  if (texts.some(text => /[?？]$/u.test(text))) return 'a question'
  if (texts.length > 1 || texts.some(text => text.split('\n').length > 3)) return 'a list'
  return 'a text'
}

/** The values that the step's schema allows for a field. */
export function choicesOf({ prompt }: Step, path: string): Json[] | undefined {
  let schema: Json | undefined = prompt?.outputSchema ?? undefined
  for (const field of path.split(/\.|\[\d+\]/u).filter(part => part !== '')) {
    if (!isJsonObject(schema)) return undefined
    const properties: Json | undefined = schema.properties
    schema = isJsonObject(properties) && field in properties ? properties[field] : schema.items
  }
  return isJsonObject(schema) && Array.isArray(schema.enum) ? schema.enum : undefined
}

/** The share of an output's values that weren't changed, 0 to 1. */
function keptShare(output: Json, changed: number): number {
  const all = [...leavesOf(output, '')].length
  return all === 0 ? 0 : Math.max(0, all - changed) / all
}
