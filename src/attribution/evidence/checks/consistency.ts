import { isJsonObject, type Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { isEqual } from '../../text/canonical.ts'
import { termsOfValue } from '../../text/terms.ts'
import { isSameMeaning, similarity } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'

/** Checks whether a correction changes an item of a list but leaves an equal item unchanged. */
export function* checkConsistency({ dispute }: Scene): Generator<Finding> {
  if (dispute?.approved === undefined) return
  for (const { path, before, after } of listPairs(dispute.step.output, dispute.approved, 'output')) {
    for (const [index, item] of before.entries()) {
      const changed = changedField(item, after[index])
      if (changed === undefined) continue
      const equal = before.findIndex(
        (other, at) => at !== index && isEqualRecord(item, other, changed) && isUnchanged(other, after[at]),
      )
      if (equal < 0) continue
      const note = `was left unchanged, while the equal item ${quote(item)} was changed`
      yield { kind: 'equal_item_kept', spanId: dispute.step.spanId, path: `${path}[${equal}]`, note, strength: 1 }
      return
    }
  }
}

/** Lists of records at the same path and of the same length in the output and the correction. */
function* listPairs(
  output: Json,
  approved: Json,
  path: string,
): Generator<{ path: string; before: Json[]; after: Json[] }> {
  if (Array.isArray(output) && Array.isArray(approved)) {
    if (output.length === approved.length) yield { path, before: output, after: approved }
  } else if (isJsonObject(output) && isJsonObject(approved)) {
    for (const [field, item] of Object.entries(output))
      yield* listPairs(item, approved[field] ?? null, `${path}.${field}`)
  }
}

/** The changed field of a record. Undefined unless there is exactly one. */
function changedField(before: Json, after: Json | undefined): string | undefined {
  if (!isJsonObject(before) || !isJsonObject(after)) return undefined
  const changed = Object.keys(before).filter(field => !isSameMeaning(before[field], after[field]))
  return changed.length === 1 ? changed[0] : undefined
}

/** A value with this many words and facts is unlikely to be in two records by chance. */
const DISTINCTIVE = 3

/**
 * Whether two records have the same value in a field. Unless that value is distinctive, the rest of the records must be
 * similar too.
 */
function isEqualRecord(item: Json, other: Json, field: string): boolean {
  spend(5)
  if (!isJsonObject(item) || !isJsonObject(other) || !isEqual(item[field] ?? null, other[field] ?? null)) return false
  const { words, facts } = termsOfValue(item[field] ?? null)
  if (words.size + facts.length >= DISTINCTIVE) return true
  const [{ [field]: _, ...left }, { [field]: __, ...right }] = [item, other]
  const [terms, others] = [termsOfValue(left), termsOfValue(right)]
  return terms.words.size > 0 && similarity({ ...terms, facts: [] }, { ...others, facts: [] }) >= 0.6
}

const isUnchanged = (before: Json, after: Json | undefined): boolean => after !== undefined && isEqual(before, after)
