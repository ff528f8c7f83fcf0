import * as fc from 'fast-check'
import { describe, inject, it } from 'vitest'
import { aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * No matter how a trace got its values, `contains` finds it if and only if its detail shows the text, and each match
 * names a place that contains the text.
 */

/** Letters that case folding equates, and characters that JSON or patterns treat specially. */
const FOLDED: Readonly<Record<string, string>> = { A: 'a', É: 'é', ẞ: 'ß', Σ: 'σ', ς: 'σ', '\u212a': 'k', 𐐀: '𐐨' }
const LETTERS = [
  'a',
  'A',
  'é',
  'É',
  'ß',
  'ẞ',
  'σ',
  'ς',
  'Σ',
  'k',
  '\u212a',
  '𐐀',
  '𐐨',
  'İ',
  '"',
  '\\',
  '\n',
  '.',
  '%',
  '1',
]

const fold = (text: string): string => [...text].map(character => FOLDED[character] ?? character).join('')

const word = fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 6 })
const { value: json } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 2 },
    word,
    fc.constantFrom(null, true, 1111),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(word, tie('value'), { maxKeys: 3 }),
  ),
}))

/** One call that changes a trace: its target, its value, and its time according to the client. */
const change = fc.record({
  trace: fc.nat(1),
  /** 0 is the root. */
  span: fc.nat(2),
  kind: fc.constantFrom('span', 'input', 'message', 'output', 'state', 'comment', 'accept', 'correct', 'reset'),
  value: json,
  text: word,
  time: fc.nat(5),
})

type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

const scenario = fc.record({
  names: fc.array(
    word.filter(name => name !== ''),
    { minLength: 2, maxLength: 2 },
  ),
  changes: fc.array(change, { minLength: 3, maxLength: 14 }),
  sought: fc.array(fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 3, maxLength: 4 }), {
    minLength: 4,
    maxLength: 4,
  }),
  /** Selects further strings to search for, from the strings that the traces show. */
  parts: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
})

/** A trace to change, and its spans' ids. */
interface Subject {
  traceId: string
  spanIds: readonly string[]
}

async function apply(
  org: Org,
  { traceId, spanIds }: Subject,
  { span, kind, value, text, time }: Change,
): Promise<void> {
  const [trace_id, timestamp, span_id] = [traceId, timeAfter(time), spanIds[span]]
  const named = span === 0 ? {} : { span_id }
  const observe = (fields: object) =>
    org.ingest.post('/api/v1/observations', { trace_id, timestamp, ...named, data: value, ...fields })
  if (kind === 'span') {
    if (span > 0)
      await org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id, input: value, output: text, timestamp }))
  } else if (kind === 'message') await observe({ type: 'input', key: 'message' })
  else if (kind === 'state') await observe({ type: 'state', key: text === '' ? 'k' : text })
  else if (kind === 'input' || kind === 'output') await observe({ type: kind })
  else if (kind === 'comment') await org.ingest.post('/api/v1/feedback', { trace_id, ...named, comment: `${text}.` })
  else {
    const body = kind === 'correct' ? { approvedOutput: value ?? 'null' } : {}
    // This may fail, because a span can't be reviewed at every point.
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: kind, ...body })
  }
}

/** A string that a trace shows. */
interface Shown {
  spanId: string
  field: string
  text: string
}

interface ShownSpan {
  id: string
  stepId: string
  input: unknown
  output: unknown
  approvedOutput: unknown
  state: unknown
  review: { reviewedBy: string | null }
}

/** Every string in a trace's detail. */
async function textsOf(org: Org, id: string): Promise<Shown[]> {
  const { name, spans, feedback } = (await org.read.get(`/api/traces/${id}`)).body
  const ofSpan = ({ id: spanId, stepId, input, output, approvedOutput, state, review }: ShownSpan) =>
    Object.entries({
      input,
      output,
      // A root shows another span's correction in the form of its own output.
      approvedOutput: review.reviewedBy === null ? approvedOutput : null,
      state,
      stepId,
    }).flatMap(([field, value]) => stringsOf(value).map(text => ({ spanId, field, text })))
  return [
    { spanId: spans[0].id, field: 'name', text: name },
    ...spans.flatMap(ofSpan),
    ...feedback.map(({ spanId, content }: Record<string, string>) => ({ spanId, field: 'comment', text: content })),
  ]
}

const stringsOf = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : value !== null && typeof value === 'object'
      ? Object.entries(value).flatMap(([key, item]) => [...(Array.isArray(value) ? [] : [key]), ...stringsOf(item)])
      : []

describe('a search by text', () => {
  it('finds exactly the traces that show the text', { timeout: 120_000 * THOROUGHNESS }, async ({ expect }) => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ names, changes, sought, parts }) => {
        const org = await newOrg()
        const subjects: (Subject & { id: string })[] = []
        for (const name of names) {
          const trace = aTrace({ name })
          const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
          const root = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
          const spanIds = [root, crypto.randomUUID(), crypto.randomUUID()]
          subjects.push({ traceId: trace.trace_id, id, spanIds })
        }
        for (const each of changes) {
          const subject = subjects[each.trace]
          if (subject) await apply(org, subject, each)
        }
        const shown = new Map<string, Shown[]>()
        for (const { id } of subjects) shown.set(id, await textsOf(org, id))
        const all = [...shown.values()].flat()
        const taken = parts.map(part =>
          [...(all[part % all.length]?.text ?? '')].slice(part % 3, (part % 3) + 3 + (part % 2)),
        )
        for (const contains of [...sought, ...taken.filter(({ length }) => length >= 3).map(part => part.join(''))]) {
          const has = ({ text }: Shown) => fold(text).includes(fold(contains))
          const query = new URLSearchParams({ projectId: org.project.id, contains })
          const { traces, searchedTo } = (await org.read.get(`/api/traces?${query}`)).body
          const expected = [...shown].filter(([, texts]) => texts.some(has)).map(([id]) => id)
          expect(new Set(traces.map(({ id }: { id: string }) => id)), contains).toEqual(new Set(expected))
          expect(searchedTo).toBeNull()
          for (const { id, matches } of traces) {
            for (const { spanId, field, snippet } of matches) {
              const places = shown.get(id)?.filter(place => place.spanId === spanId && place.field === field) ?? []
              expect(
                places.filter(has).map(({ text }) => text),
                contains,
              ).toContain(snippet)
            }
          }
        }
      }),
      { numRuns: 15 * THOROUGHNESS, interruptAfterTimeLimit: 100_000 * THOROUGHNESS },
    )
  })
})
