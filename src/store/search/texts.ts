import { and, eq, sql } from 'drizzle-orm'
import { foldObservations, mergeInputs } from '../../domain/fold.ts'
import { mayContain, type SoughtText, snippetIn, snippetInJson } from '../../domain/text-search.ts'
import { inPieces } from '../../domain/turns.ts'
import { MAX_SEARCHED_BYTES, SEARCHED_BYTES_AT_ONCE, SEARCHED_ROW_BYTES } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import type { CommentHead, ObservationHead, SpanHead } from './heads.ts'

/* Reads the current values of spans, and finds text in them. */

export const MATCHED_FIELDS = ['input', 'output', 'approvedOutput', 'state', 'name', 'stepId', 'comment'] as const

/** A match in a span or in the name of the span's trace. */
export interface TextMatch {
  spanId: string
  field: (typeof MATCHED_FIELDS)[number]
  snippet: string
}

/** Where a value is stored, and how much of it is in its row. */
interface Source {
  from: 'input' | 'output' | 'state' | 'observation' | 'approved' | 'comment'
  traceKey: number
  id: string
  /** The decision's number, for `approved`. */
  number: number | null
  bytes: number
}

/** The values to search in one span, before any of them is read. */
export interface SpanTexts {
  spanId: string
  /** Undefined for a trace's root. */
  parentId?: string
  names: readonly (readonly [field: 'name' | 'stepId', text: string])[]
  output?: Source | undefined
  approved?: Source | undefined
  /** The state that was sent with the span. */
  given?: Source | undefined
  state: readonly [key: string, value: Source][]
  inputs: readonly Source[]
  /** How many of the last inputs are messages of one conversation. */
  messageCount: number
  comments: readonly { spanId: string; value: Source }[]
}

/** The current values of a span, without those that its observations replace. */
export function textsOf(
  { traceKey, id, stepId, reviewNumber, ...span }: SpanHead,
  observed: readonly ObservationHead[],
): SpanTexts {
  const own = (from: Source['from'], bytes: number | null, number: number | null = null): Source | undefined =>
    bytes === null ? undefined : { from, traceKey, id, number, bytes }
  const { inputs, messageCount, output, state } = foldObservations(
    observed.map(({ bytes, ...head }) => ({
      ...head,
      value: { from: 'observation' as const, traceKey, id: head.id, number: null, bytes },
    })),
  )
  const ownInput = own('input', span.inputBytes)
  return {
    spanId: id,
    names: [['stepId', stepId]],
    inputs: ownInput ? [ownInput, ...inputs] : inputs,
    messageCount,
    output: output?.value ?? own('output', span.outputBytes),
    approved: own('approved', span.approvedBytes, reviewNumber),
    given: own('state', span.stateBytes),
    state,
    comments: [],
  }
}

export const commentsOf = (comments: readonly CommentHead[], rootSpanId: string): SpanTexts['comments'] =>
  comments.map(({ traceKey, id, spanId, bytes }) => ({
    spanId: spanId ?? rootSpanId,
    value: { from: 'comment', traceKey, id, number: null, bytes },
  }))

/** All values of a span, in the order in which they're searched if there are too many. */
const valuesOf = ({ output, approved, given, state, inputs, comments }: SpanTexts): Source[] => [
  ...[output, approved, given].filter(value => value !== undefined),
  ...comments.map(({ value }) => value),
  ...state.map(([, value]) => value),
  ...inputs,
]

const bytesOf = ({ bytes }: Source): number => bytes + SEARCHED_ROW_BYTES

/** How much of a page's limit a span's values use up. Values beyond the limit aren't read. */
export const sizeOf = (texts: SpanTexts): number =>
  Math.min(
    MAX_SEARCHED_BYTES,
    valuesOf(texts).reduce((sum, value) => sum + bytesOf(value), SEARCHED_ROW_BYTES),
  )

/** A value that was read: its JSON or a comment. */
interface ReadText {
  text: string
  /** Whether this is only the beginning of a value in R2. */
  isBeginning: boolean
}

export type ReadTexts = ReadonlyMap<Source, ReadText>

/** Reads the values of spans, at most `SEARCHED_BYTES_AT_ONCE` in a round trip. */
export async function readTexts(store: Store, searched: readonly SpanTexts[]): Promise<ReadTexts> {
  const read = new Map<Source, ReadText>()
  const values = searched.flatMap(texts => {
    const [fitting = []] = inPieces(valuesOf(texts), MAX_SEARCHED_BYTES, bytesOf)
    return fitting
  })
  for (const some of inPieces(values, SEARCHED_BYTES_AT_ONCE, bytesOf)) {
    for (const row of (await readPlain(store.database, statements(store, some))).flat()) {
      const value = some[row.place]
      if (value && row.text !== null) read.set(value, { text: row.text, isBeginning: row.isBeginning === 1 })
    }
  }
  return read
}

const VALUES = rowSet(['place', 'from', 'traceKey', 'id', 'number'])
const { row } = VALUES
const place = sql<number>`${row.place}`.as('place')

/** The statements that read values, one for each table. */
function statements({ database }: Store, values: readonly Source[]) {
  const rows = values.map((value, place) => ({ place, ...value }))
  const from = (...tables: Source['from'][]) => {
    const some = rows.filter(({ from }) => tables.includes(from))
    return VALUES.from(VALUES.encodeAll(some))
  }
  return [
    database
      .select({
        place,
        text: sql<string | null>`case ${row.from} when 'input' then ${spans.input} when 'output' then ${spans.output}
          else ${spans.state} end`.as('text'),
        isBeginning: sql<number>`case ${row.from} when 'input' then ${spans.inputRef} is not null
          when 'output' then ${spans.outputRef} is not null else 0 end`.as('isBeginning'),
      })
      .from(from('input', 'output', 'state'))
      .crossJoin(spans)
      .where(and(eq(spans.id, row.id), eq(spans.traceKey, row.traceKey))),
    database
      .select({
        place,
        text: sql<string | null>`${observations.data}`.as('text'),
        isBeginning: sql<number>`${observations.dataRef} is not null`.as('isBeginning'),
      })
      .from(from('observation'))
      .crossJoin(observations)
      .where(and(eq(observations.traceKey, row.traceKey), eq(observations.id, row.id))),
    database
      .select({
        place,
        text: sql<string | null>`${reviews.approved}`.as('text'),
        isBeginning: sql<number>`${reviews.approvedRef} is not null`.as('isBeginning'),
      })
      .from(from('approved'))
      .crossJoin(reviews)
      .where(and(eq(reviews.traceKey, row.traceKey), eq(reviews.spanId, row.id), eq(reviews.number, row.number))),
    database
      .select({
        place,
        text: sql<string | null>`${feedback.comment}`.as('text'),
        isBeginning: sql<number>`0`.as('isBeginning'),
      })
      .from(from('comment'))
      .crossJoin(feedback)
      .where(and(eq(feedback.id, row.id), eq(feedback.traceKey, row.traceKey))),
  ] as const
}

/** The matches in a span. */
export interface Found {
  /** At most one for each field, state key, and comment. */
  matches: TextMatch[]
  /** How many of the span's values are in R2, so that only their beginnings were searched. */
  beginnings: number
  /** Whether the span has more values than a search reads. */
  isLeftOut: boolean
}

/** Finds the sought text in a span. */
export function findIn(texts: SpanTexts, read: ReadTexts, sought: SoughtText): Found {
  const { spanId, names, output, approved, inputs, messageCount, comments } = texts
  const matches: TextMatch[] = []
  const add = (field: TextMatch['field'], snippet: string | undefined, of: string = spanId): void => {
    if (snippet !== undefined) matches.push({ spanId: of, field, snippet })
  }
  const inJson = (value: Source | undefined) => {
    const found = value && read.get(value)
    return found && snippetInJson(found.text, sought)
  }
  for (const [field, name] of names) if (field === 'name') add('name', snippetIn(name, sought))
  const values = inputs.flatMap(value => read.get(value) ?? [])
  add('input', snippetInInputs(values, messageCount, sought))
  const snippet = inJson(output)
  add('output', snippet)
  const approvedSnippet = inJson(approved)
  // Without this check, an output that was accepted unchanged would be shown twice.
  if (approvedSnippet !== snippet) add('approvedOutput', approvedSnippet)
  const state = stateOf(texts, read)
  for (const [key, { text }] of state) add('state', snippetIn(key, sought) ?? snippetInJson(text, sought))
  for (const [field, name] of names) if (field === 'stepId') add('stepId', snippetIn(name, sought))
  for (const { spanId, value } of comments) {
    const comment = read.get(value)
    add('comment', comment && snippetIn(comment.text, sought), spanId)
  }
  const shown = [output, approved].flatMap(value => (value && read.get(value)) ?? [])
  return {
    matches,
    beginnings: [...values, ...shown, ...state.values()].filter(({ isBeginning }) => isBeginning).length,
    isLeftOut: valuesOf(texts).some(value => !read.has(value)),
  }
}

/** The last value of each state key. */
function stateOf({ given, state }: SpanTexts, read: ReadTexts): Map<string, ReadText> {
  const sent: [key: string, text: string, ref: string | null][] = JSON.parse((given && read.get(given)?.text) ?? '[]')
  return new Map([
    ...sent.map(([key, text, ref]) => [key, { text, isBeginning: ref !== null }] as const),
    ...state.flatMap(([key, value]) => {
      const found = read.get(value)
      return found ? [[key, found] as const] : []
    }),
  ])
}

/**
 * Finds the sought text in a span's inputs, merged as they're shown. Inputs that can't be merged here are searched one
 * by one.
 */
function snippetInInputs(inputs: readonly ReadText[], messageCount: number, sought: SoughtText): string | undefined {
  const isMerged = inputs.length > 1 || messageCount > 0
  if (!isMerged || inputs.some(({ isBeginning }) => isBeginning)) {
    return inputs.map(({ text }) => snippetInJson(text, sought)).find(snippet => snippet !== undefined)
  }
  const mayMatch =
    inputs.some(({ text }) => mayContain(text, sought)) || (messageCount > 0 && sought.pattern.test('messages'))
  if (!mayMatch) return undefined
  const merged = mergeInputs(
    inputs.map(({ text }) => JSON.parse(text)),
    messageCount,
  )
  return merged === undefined ? undefined : snippetInJson(JSON.stringify(merged), sought)
}
