import { isJsonObject, type Json } from '../../domain/json.ts'
import { outputCheck } from '../../domain/output-schema.ts'
import { type Change, isNothing } from '../difference.ts'
import type { Finding } from '../evidence.ts'
import { languageOf } from '../language.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote } from '../sources.ts'
import type { Step } from '../subject.ts'
import { termsOfValue } from '../terms.ts'

/** How the approved output differs from the output: in format, in a label, in a number, in wording, by more or by less. */
export function* checkShape({ dispute, origin, subject }: Scene): Generator<Finding> {
  const broken = subject.steps.find(step => !isNothing(step.output) && schemaFaults(step).length > 0)
  if (broken) {
    const [fault] = schemaFaults(broken)
    const isDisputed = broken === origin || broken === dispute?.step
    yield {
      kind: isDisputed ? 'schema_broken' : 'schema_broken_elsewhere',
      spanId: broken.spanId,
      path: (fault?.path ?? 'output').replace(/\.(\d+)(?=\.|$)/gu, '[$1]'),
      note: `breaks the step's outputSchema: ${fault?.message.replace(/\.$/u, '')}`,
      strength: 1,
    }
  }
  if (!dispute) return
  const { step, approved, difference } = dispute
  const at = (path: string) => ({ spanId: step.spanId, path: path === '' ? 'output' : `output.${path}` })
  if (isNothing(step.output)) yield { kind: 'output_empty', ...at(''), note: 'holds nothing', strength: 1 }
  if (!difference || approved === undefined) {
    yield { kind: 'no_correction', ...at(''), note: 'was objected to, and nobody said what it should be', strength: 1 }
    return
  }
  const { changes, formatChanges, lost, gained } = difference
  const [first] = changes
  if (difference.isReordered) {
    yield {
      kind: 'order_changed',
      ...at(''),
      note: 'has the same items as the approved output, in another order',
      strength: 1,
    }
    return
  }
  if (changes.length === 0) {
    const [change] = formatChanges
    yield {
      kind: 'format_alone',
      ...at(change?.path ?? ''),
      note: `says the same as the approved ${quote(change?.after ?? approved)} in another form`,
      strength: difference.isNone ? 0.3 : 1,
    }
    return
  }
  if (isNothing(step.output)) return
  const added = changes.filter(({ before }) => isNothing(before))
  const removed = changes.filter(({ after }) => isNothing(after))
  const isGaining = lost.words.size + lost.facts.length === 0 && gained.words.size + gained.facts.length > 0
  const isLosing = gained.words.size + gained.facts.length === 0 && lost.words.size + lost.facts.length > 0
  const extended = changes.filter(({ before, after }) => isExtended(before, after) || (isGaining && isProse(before)))
  if (added.length + extended.length === changes.length) {
    const isFilled = added.length === changes.length && added.every(({ before }) => before === null)
    yield {
      kind: isFilled ? 'field_filled' : 'only_added',
      ...at(first?.path ?? ''),
      note: `is kept, and the approved output adds ${quote(first?.after)}`,
      strength: 1,
    }
    return
  }
  const shortened = changes.filter(({ before, after }) => isExtended(after, before) || (isLosing && isProse(before)))
  if (removed.length + shortened.length === changes.length) {
    yield { kind: 'only_removed', ...at(first?.path ?? ''), note: 'is kept but for what was taken out', strength: 1 }
    return
  }
  const [spoken, wanted] = [languageOf(step.output), languageOf(approved)]
  if (spoken && wanted && spoken !== wanted) {
    yield { kind: 'language_changed', ...at(''), note: 'is in another language than the approved output', strength: 1 }
    return
  }
  const leaves = changes.filter(({ before, after }) => isScalar(before) && isScalar(after))
  const numbers = leaves.filter(({ before, after }) => isNumeric(before) && isNumeric(after))
  const labels = leaves.filter(({ before, after }) => isLabel(before) && isLabel(after) && !isNumeric(after))
  const texts = leaves.filter(({ before, after }) => isProse(before) && isProse(after))
  const [number] = numbers
  if (number) {
    const share = numbers.length / Math.max(1, changes.length - texts.length)
    yield {
      kind: 'number_changed',
      ...at(number.path),
      note: `was ${quote(number.before)} and is approved as ${quote(number.after)}`,
      strength: Math.min(1, share),
    }
  }
  const [label] = labels
  if (label && numbers.length === 0) {
    const isChoice = isBoolean(label.before) || choicesOf(step, label.path) !== undefined
    yield {
      kind: isChoice ? 'choice_changed' : 'label_changed',
      ...at(label.path),
      note: `was ${quote(label.before)} and is approved as ${quote(label.after)}`,
      strength: 1,
    }
  }
  const [text] = texts
  if (text && texts.length === changes.length) {
    const facts = lost.facts.length + gained.facts.length
    const shared = difference.similarity
    if (facts === 0 && isSwapped(text)) {
      yield {
        kind: 'values_swapped',
        ...at(text.path),
        note: "has the numbers and names of the approved text, in each other's place",
        strength: 1,
      }
    } else if (facts === 0)
      yield {
        kind: 'reworded',
        ...at(text.path),
        note: 'keeps every number, date and name; the wording is another',
        strength: shared,
      }
    if (shared < 0.35)
      yield {
        kind: 'rewritten',
        ...at(text.path),
        note: 'has next to nothing in common with the approved text',
        strength: 1 - shared / 0.35,
      }
  } else if (difference.similarity < 0.2 && leaves.length < changes.length) {
    yield {
      kind: 'rewritten',
      ...at(first?.path ?? ''),
      note: 'has next to nothing in common with the approved output',
      strength: 1 - difference.similarity / 0.2,
    }
  }
  const form = formOf(step.output)
  if (form !== undefined && formOf(approved) !== undefined && form !== formOf(approved)) {
    yield {
      kind: 'form_changed',
      ...at(''),
      note: `is ${form}, and the approved output ${formOf(approved)}`,
      strength: 1,
    }
  }
  if (changes.length >= 2 && leaves.length >= 2) {
    yield {
      kind: 'many_changes',
      ...at(first?.path ?? ''),
      note: `differs in ${changes.length} places`,
      strength: Math.min(1, changes.length / 6),
    }
  }
  const kept = keptShare(step.output, changes.length)
  if (kept > 0.5 && number && changes.length <= 2) {
    yield {
      kind: 'rest_kept',
      ...at(number.path),
      note: 'is the only thing changed among fields that were approved',
      strength: kept,
    }
  }
}

function schemaFaults({ prompt, output, hasOutput }: Step) {
  if (!prompt?.outputSchema || !hasOutput) return []
  return outputCheck(JSON.stringify(prompt.outputSchema))(JSON.stringify(output), 'output')
}

/** Whether two texts have the same facts in another order. */
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

const wordCount = (text: string): number => text.split(/[\s_-]+/u).filter(word => word !== '').length

/** Whether one value goes on where the other ends: a text with more before it, or behind. */
function isExtended(before: Json | undefined, after: Json | undefined): boolean {
  if (typeof before !== 'string' || typeof after !== 'string' || after.length <= before.length) return false
  const stem = before.trim().replace(/[\p{P}\s]+$/u, '')
  if (stem.length < 3) return false
  return after.includes(stem)
}

/** What kind of text a value is; undefined where it is none. */
function formOf(value: Json): string | undefined {
  const texts = [...leavesOf(value, '')].flatMap(([, leaf]) =>
    typeof leaf === 'string' && isProse(leaf) ? [leaf.trim()] : [],
  )
  if (texts.length === 0) return undefined
  if (texts.some(text => /[?？]$/u.test(text))) return 'a question'
  if (texts.length > 1 || texts.some(text => text.split('\n').length > 3)) return 'a list'
  return 'a text'
}

/** The values that a field may have, by its step's schema. */
export function choicesOf({ prompt }: Step, path: string): Json[] | undefined {
  let schema: Json | undefined = prompt?.outputSchema ?? undefined
  for (const field of path.split(/\.|\[\d+\]/u).filter(part => part !== '')) {
    if (!isJsonObject(schema)) return undefined
    const properties: Json | undefined = schema.properties
    schema = isJsonObject(properties) && field in properties ? properties[field] : schema.items
  }
  return isJsonObject(schema) && Array.isArray(schema.enum) ? schema.enum : undefined
}

/** The share of an output's values that were left as they are. */
function keptShare(output: Json, changed: number): number {
  const all = [...leavesOf(output, '')].length
  return all === 0 ? 0 : Math.max(0, all - changed) / all
}
