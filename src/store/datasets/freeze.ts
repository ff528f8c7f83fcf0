import { mergeInputs } from '../../domain/fold.ts'
import { hashOutput } from '../../domain/review-state.ts'
import { MAX_PAGE_VALUE_BYTES } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import type { FoldedSpan } from '../spans/fold-spans.ts'
import { isAnyCut } from '../spans/span-detail.ts'
import { type FoundValue, fetchValues, lengthOf, placeUnder, type StoredValue } from '../traces/payloads.ts'
import { type EntryValues, STATE } from './entries.ts'

/** A span's values, in the form in which an item stores them. */
export type FrozenValues = EntryValues & { inputHash: string }

/** A span to freeze. */
export interface Freezable {
  span: FoldedSpan
  /** The JSON of its output. */
  output: string
  /** What reviewers say the output should be. */
  expected: StoredValue
}

/**
 * Copies the current values of spans. Small values go into the entry. Large values stay in the R2 objects that the
 * trace already has. Large inputs are still read, because items are found by a hash of their input. Leaves out a span
 * if its values weren't read completely or if an object is gone.
 */
export async function freezeValues(
  store: Store,
  freezables: readonly Freezable[],
): Promise<Map<Freezable, FrozenValues>> {
  const frozen = new Map<Freezable, FrozenValues>()
  for (const group of inGroups(freezables.filter(({ span }) => !isAnyCut(span)))) {
    const inputs = group.flatMap(({ span }) => span.inputs)
    const fetched = await fetchValues(
      store,
      inputs.filter(({ ref }) => ref !== null),
    )
    const textOf = (value: FoundValue) => (value.ref === null ? value.text : fetched.get(value))
    const merged = group.flatMap(freezable => {
      const input = mergedInput(freezable.span, textOf)
      return input === undefined ? [] : [{ ...freezable, freezable, input }]
    })
    const drafts = merged.map(({ span, input, ...draft }) => {
      const folder = span.row.traceKey
      const [only] = span.inputs
      const isWhole = span.inputs.length === 1 && span.messageCount === 0
      const state = span.state.map(([key, { text, ref }]) => ({ key, text, ref }))
      return {
        ...draft,
        span,
        input,
        // A single input stays where it's stored.
        inputValue: isWhole ? only : undefined,
        newInput: isWhole || input === null ? undefined : { folder, json: input },
        newState: state.length === 0 ? undefined : { folder, json: STATE.encodeAll(state) },
        newMetadata: span.row.metadata === null ? undefined : { folder, json: span.row.metadata },
      }
    })
    const placement = await placeUnder(
      store,
      drafts.flatMap(({ newInput, newState, newMetadata }) =>
        [newInput, newState, newMetadata].filter(value => value !== undefined),
      ),
    )
    for (const draft of drafts) {
      const placed = (value: { folder: number; json: string } | undefined) => value && placement.get(value)
      const input = draft.inputValue ?? placed(draft.newInput)
      const state = placed(draft.newState)
      const metadata = placed(draft.newMetadata)
      const { ref } = draft.span.output ?? { ref: null }
      const output = ref === null ? { text: draft.output, ref } : draft.span.output
      const values = [input, state, output, draft.expected, metadata, ...draft.span.state.map(([, value]) => value)]
      frozen.set(draft.freezable, {
        ...columnsOf('input', input),
        ...columnsOf('state', state),
        ...columnsOf('output', output),
        ...columnsOf('expected', draft.expected),
        ...columnsOf('metadata', metadata),
        objects: objectsOf(values),
        inputHash: await hashInput(draft.input),
      })
    }
  }
  return frozen
}

/** The hash by which equal inputs are found: 128 bits, in hex. `input` is JSON, or null if there is none. */
export const hashInput = async (input: string | null): Promise<string> =>
  (await hashOutput(input ?? 'null')).slice(0, 32)

/** The names of the objects that values refer to, as JSON. Null if there are none. */
export function objectsOf(values: readonly (StoredValue | null | undefined)[]): string | null {
  const names = new Set(values.flatMap(value => (value?.ref ? [value.ref.split(':')[0]] : [])))
  return names.size === 0 ? null : JSON.stringify([...names])
}

/** A stored value as two columns. */
export const columnsOf = <Name extends string>(
  name: Name,
  value: StoredValue | null | undefined,
): Record<Name | `${Name}Ref`, string | null> => {
  const columns = { [name]: value?.text ?? null, [`${name}Ref`]: value?.ref ?? null }
  // TypeScript can't infer the computed keys of an object literal.
  return columns as Record<Name | `${Name}Ref`, string | null>
}

/** A span's whole input as JSON: null if it has none, undefined if an object is gone. */
function mergedInput(
  { inputs, messageCount }: FoldedSpan,
  textOf: (value: FoundValue) => string | undefined,
): string | null | undefined {
  const texts = inputs.map(textOf)
  const [only, ...more] = texts
  if (texts.length === 0) return null
  if (more.length === 0 && messageCount === 0) return only
  const whole = texts.filter(text => text !== undefined)
  if (whole.length < texts.length) return undefined
  return JSON.stringify(
    mergeInputs(
      whole.map(text => JSON.parse(text)),
      messageCount,
    ) ?? null,
  )
}

/** Splits spans into groups whose inputs fit into memory together. Each group has at least one span. */
function* inGroups(freezables: readonly Freezable[]): Generator<Freezable[]> {
  let [group, bytes]: [Freezable[], number] = [[], 0]
  for (const freezable of freezables) {
    const size = freezable.span.inputs.reduce((sum, value) => sum + lengthOf(value), 0)
    if (group.length > 0 && bytes + size > MAX_PAGE_VALUE_BYTES) {
      yield group
      group = []
      bytes = 0
    }
    group.push(freezable)
    bytes += size
  }
  if (group.length > 0) yield group
}
