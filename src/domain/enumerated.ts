import { MAX_SCHEMA_APPLICATIONS } from '../limits.ts'
import type { Json } from './json.ts'
import { compileSchema, type Schema } from './json-schema/compile.ts'

/** A schema that applies to a value, or several alternatives, at least one of which applies. */
type Applied = Schema | { alternatives: readonly Applied[][] }

/**
 * What a JSON Schema says about the strings in a value: whether they're chosen from a list. Follows `properties`,
 * `additionalProperties`, `items`, `prefixItems`, references, and combinations. A part of a schema that can't be
 * applied is ignored.
 */
export class Enumerated {
  readonly #applied: readonly Applied[]
  readonly #within = new Map<string | number, Enumerated>()
  readonly #budget: { left: number }
  #isEnumerated: boolean | undefined

  private constructor(applied: readonly Applied[], budget: { left: number }) {
    this.#applied = applied
    this.#budget = budget
  }

  /** For values of a step with this schema. */
  static by(schema: Json): Enumerated {
    return new Enumerated([compileSchema(schema).schema], { left: MAX_SCHEMA_APPLICATIONS })
  }

  /** Whether a string here must be one of the values in an `enum`, or the value of a `const`. */
  get isEnumerated(): boolean {
    this.#isEnumerated ??= this.#isListed(this.#applied)
    return this.#isEnumerated
  }

  /** What the schema says about a field's value. */
  field(name: string): Enumerated {
    return this.#remembered(name, schema => schema.properties?.get(name) ?? schema.additionalProperties)
  }

  /** What the schema says about an item of an array. */
  item(index: number): Enumerated {
    const prefix = this.#applied.length === 0 ? 0 : Math.min(index, MAX_PREFIX)
    return this.#remembered(prefix, schema => schema.prefixItems?.[prefix] ?? schema.items)
  }

  #remembered(step: string | number, inner: (schema: Schema) => Schema | undefined): Enumerated {
    const known = this.#within.get(step)
    if (known || this.#applied.length === 0) return known ?? this
    const found = new Enumerated(this.#inside(this.#applied, inner), this.#budget)
    this.#within.set(step, found)
    return found
  }

  #isListed(applied: readonly Applied[]): boolean {
    return applied.some(each => {
      if (!('alternatives' in each)) return this.#isListedBy(each)
      // An alternative for values of other types, such as null, doesn't matter for strings.
      const forStrings = each.alternatives.filter(([first]) => first && admitsStrings(first))
      return forStrings.length > 0 && forStrings.every(alternative => this.#isListed(alternative))
    })
  }

  #isListedBy(schema: Schema): boolean {
    if (!this.#spend() || schema.error) return false
    return Boolean(schema.constant ?? schema.choices) || this.#isListed(this.#combined(schema))
  }

  #inside(applied: readonly Applied[], inner: (schema: Schema) => Schema | undefined): Applied[] {
    return applied.flatMap(each => {
      if ('alternatives' in each) {
        const alternatives = each.alternatives.map(one => this.#inside(one, inner)).filter(one => one.length > 0)
        return alternatives.length === 0 ? [] : [{ alternatives }]
      }
      if (!this.#spend() || each.error) return []
      return [inner(each) ?? [], this.#inside(this.#combined(each), inner)].flat()
    })
  }

  /** The schemas that a schema applies to the same value. */
  #combined({ ref, dynamicRef, allOf = [], anyOf, oneOf }: Schema): Applied[] {
    const references = [ref, dynamicRef?.schema].filter(schema => schema !== undefined)
    const choices = [anyOf, oneOf].filter(schemas => schemas !== undefined)
    return [...references, ...allOf, ...choices.map(schemas => ({ alternatives: schemas.map(one => [one]) }))]
  }

  /** Whether another schema may be examined. If not, the remaining ones are ignored. */
  #spend(): boolean {
    return this.#budget.left-- > 0
  }
}

/** Items from this index on are treated alike. Schemas list only a few items one by one. */
const MAX_PREFIX = 100

const admitsStrings = (applied: Applied): boolean =>
  'alternatives' in applied || applied.types === undefined || applied.types.includes('string')
