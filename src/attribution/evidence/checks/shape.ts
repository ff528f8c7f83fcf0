import { isJsonObject, type Json } from '../../../domain/json.ts'
import { OutputChecks } from '../../../domain/output-schema.ts'
import type { Step } from '../../../domain/subject.ts'
import { atOnce } from '../../../domain/turns.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { hasTerms, type Terms, termsOfValue } from '../../text/terms.ts'
import type { FindingKind } from '../../weights.ts'
import { type Change, isNothing } from '../difference.ts'
import type { MainDispute } from '../dispute.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, partsOf, quote, type Source, sourceOf, supportOf } from '../sources.ts'

/** Checks the output against its schema, and what kind of change the correction is. */
export function* checkShape({ dispute, origin, subject, visible }: Scene): Generator<Finding> {
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
  if (dispute) yield* checkLists(origin, visible)
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
  if (isBlank) yield found('output_empty', whole, 'is empty')
  if (!difference || approved === undefined) {
    yield found('no_correction', whole, 'was disputed, but nobody said what it should be')
    return
  }
  const { changes, formatChanges, lost, gained, similarity } = difference
  const [first] = changes
  const [change] = formatChanges
  if (!first && change) {
    const note = `means the same as the approved ${quote(change.after)} but is formatted differently`
    yield found('only_format_changed', change, note)
  }
  if (!first || isBlank) return
  const isGaining = !hasTerms(lost) && hasTerms(gained)
  const isLosing = !hasTerms(gained) && hasTerms(lost)
  if (changes.every(({ before, after }) => isExtended(before, after) || (isGaining && isProse(before)))) {
    const kind = changes.every(({ before }) => before === null) ? 'field_filled' : 'only_added'
    yield found(kind, first, `is unchanged, but the approved output adds ${quote(first.after)}`)
  } else if (changes.every(({ before, after }) => isExtended(after, before) || (isLosing && isProse(before)))) {
    yield found('only_removed', first, 'is unchanged except for removed content')
  } else {
    const changed = ({ before, after }: Change) => `was corrected from ${quote(before)} to ${quote(after)}`
    const numbers = changes.filter(isEach(isNumeric))
    const texts = changes.filter(isEach(isProse))
    const label = changes.find(isEach(value => isLabel(value) && !isNumeric(value)))
    const [[number], [text]] = [numbers, texts]
    const share = numbers.length / Math.max(1, changes.length - texts.length)
    if (number) yield found('number_changed', number, changed(number), Math.min(1, share))
    else if (label) {
      const isChoice = typeof label.before === 'boolean' || choicesOf(step, label.path) !== undefined
      yield found(isChoice ? 'choice_changed' : 'label_changed', label, changed(label))
    }
    const isReworded = lost.facts.length + gained.facts.length === 0
    if (text && texts.length === changes.length && isReworded) {
      const note = 'has every number, date, and name in the approved text; only the wording differs'
      yield found('reworded', text, note, similarity)
    }
    if (similarity < REWRITTEN && !number && !label) {
      const note = 'has almost nothing in common with the approved output'
      yield found('rewritten', first, note, 1 - similarity / REWRITTEN)
    }
  }
}

/** Outputs with less in common than this have different content. */
const REWRITTEN = 0.35

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

/** Whether a value was added, or a text was extended. */
function isExtended(before: Json | undefined, after: Json | undefined): boolean {
  if (isNothing(before)) return true
  if (typeof before !== 'string' || typeof after !== 'string' || after.length <= before.length) return false
  const stem = before.trim().replace(/(?<![\p{P}\s])[\p{P}\s]+$/u, '')
  return stem.length >= 3 && after.includes(stem)
}

/** Finds a list in the output that lacks an item next to its items in their source. */
function* checkLists(origin: Step, visible: readonly Source[]): Generator<Finding> {
  const texts = visible.flatMap(({ kind, value, path }) => (kind === 'metadata' ? [] : [...leavesOf(value, path)]))
  for (const [path, items] of partsOf(origin.output, 'output')) {
    if (!Array.isArray(items) || items.length < 2) continue
    const wanted = items.map(termsOfValue)
    for (const [place, text] of texts) {
      const left = typeof text === 'string' ? itemLeftOut(wanted, text) : undefined
      if (left === undefined) continue
      const note = `lacks ${quote(left)}, which is next to its items in ${place}`
      yield { kind: 'items_left_out', spanId: origin.spanId, path, note, strength: 1 }
      return
    }
  }
}

/** Text with more lines is data that a list may only be an excerpt of. */
const MAX_LINES = 200

/** The line after the ones that the items came from, if those are adjacent and it resembles them. */
function itemLeftOut(items: readonly Terms[], text: string): string | undefined {
  spend(3 * text.length)
  for (const parts of [text.split('\n'), text.split(/[,;]\s/u)]) {
    const lines = parts.map(part => part.trim()).filter(part => part !== '')
    if (lines.length <= items.length || lines.length > MAX_LINES) continue
    const sources = lines.map(line => sourceOf('input', null, '', line))
    const places = items.map(terms => sources.findIndex(source => supportOf(terms, [source]).found > 0.7))
    const [first, last] = [Math.min(...places), Math.max(...places)]
    const isAdjacent = first >= 0 && new Set(places).size === items.length && last - first + 1 === items.length
    const [line, next] = [lines[last], lines[last + 1]]
    if (isAdjacent && line && next && shapeOf(line) === shapeOf(next)) return next
  }
  return undefined
}

/** What the lines of a list have in common: how they start, and roughly how long they are. */
const shapeOf = (line: string): string => {
  const start = line
    .slice(0, 1)
    .replace(/\d/u, '0')
    .replace(/\p{Lu}/u, 'A')
    .replace(/\p{Ll}/u, 'a')
  return start + (line.split(/\s+/u).length > 6)
}

/** The values that the step's schema allows for a field. */
export function choicesOf({ prompt }: Step, path: string): Json[] | undefined {
  let schema: Json | undefined = prompt?.outputSchema ?? undefined
  for (const field of path.split(/\.|\[\d+\]/u).filter(part => part !== '')) {
    if (!isJsonObject(schema)) return undefined
    const properties: Json | undefined = schema.properties
    schema = isJsonObject(properties) && Object.hasOwn(properties, field) ? properties[field] : schema.items
  }
  return isJsonObject(schema) && Array.isArray(schema.enum) ? schema.enum : undefined
}
