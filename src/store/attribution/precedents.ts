import { canonicalJson } from '../../domain/json.ts'
import type { Precedent } from '../../domain/subject.ts'
import type { Store } from '../core/store.ts'
import { type SpanDetail, showSpans } from '../spans/span-detail.ts'
import type { FoundValue } from '../traces/payloads.ts'
import type { Neighborhood } from './neighborhood.ts'

/** A reviewed span in another trace, with that trace's input. */
interface Compared {
  detail: SpanDetail
  rootInput: string
}

/** Fetches the earlier decisions whose inputs and approved outputs are stored in their rows, newest first. */
export async function fetchComparable(
  store: Store,
  traceKey: number,
  { reviewed, folded }: Neighborhood['precedents'],
): Promise<Compared[]> {
  const isInline = (value: FoundValue | undefined) => !value || (value.ref === null && !value.isCut)
  const inline = folded
    .filter(({ inputs, approved, row }) => row.traceKey !== traceKey && [...inputs, approved].every(isInline))
    .map(span => ({ ...span, output: undefined, state: [] }))
  const shown = (await showSpans(store, inline, 'full')) ?? []
  const detailOf = new Map(shown.map((detail, index) => [`${inline[index]?.row.traceKey}/${detail.id}`, detail]))
  return reviewed.flatMap(({ traceKey, spanId, rootSpanId }) => {
    const detail = detailOf.get(`${traceKey}/${spanId}`)
    const root = detailOf.get(`${traceKey}/${rootSpanId}`)
    return detail?.review && root ? [{ detail, rootInput: root.input.text }] : []
  })
}

/**
 * Returns a function that compares two JSON texts by value. It parses each text only once, because every step is
 * compared with every decision.
 */
export function createJsonComparer(): (left: string, right: string) => boolean {
  const known = new Map<string, string>()
  const canonical = (text: string) => {
    const value = known.get(text) ?? canonicalJson(JSON.parse(text))
    known.set(text, value)
    return value
  }
  return (left, right) => left === right || (left.length === right.length && canonical(left) === canonical(right))
}

/** The decisions on spans of the same step with the same input, in traces with the same input. */
export function findPrecedents(
  step: SpanDetail,
  root: SpanDetail,
  compared: readonly Compared[],
  isSame: ReturnType<typeof createJsonComparer>,
): Precedent[] {
  // Without any input, nothing shows that two cases are the same.
  if (step.input.text === 'null' && root.input.text === 'null') return []
  return compared.flatMap(({ detail, rootInput }) => {
    const isEqualCase =
      detail.stepId === step.stepId && isSame(detail.input.text, step.input.text) && isSame(rootInput, root.input.text)
    if (!isEqualCase || !detail.review) return []
    const { state, userId } = detail.review
    return [{ spanId: detail.id, state, approvedOutput: JSON.parse(detail.approvedOutput.text), userId }]
  })
}
