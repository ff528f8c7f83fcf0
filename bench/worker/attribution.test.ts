import { env } from 'cloudflare:workers'
import { inject, it } from 'vitest'
import { HANDBOOK } from '../../scripts/demo/support-handbook.ts'
import { contentOf } from '../../scripts/demo/versions.ts'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import { attributeByRules } from '../../src/attribution/rules/engine.ts'
import { runAttribution } from '../../src/attribution/run.ts'
import { utf8Length } from '../../src/domain/text.ts'
import { findSubject } from '../../src/store/attribution/subject.ts'
import { storeOf, withMessages } from '../../test/support/attribution.ts'
import { resultsOf } from '../../test/support/batch.ts'
import { newOrg, type Org } from '../../test/support/org.ts'
import { measuredBindings } from './measured-bindings.ts'

const { largeSpans, times } = inject('attributionLoad')

const TIMESTAMP = '2026-11-20T10:00:00.000Z'
const EVENTS_PER_BATCH = 1000
/** Bytes of retrieved passages. A third of them are passed to the answer step; all values together take 50 KB. */
const RETRIEVED_BYTES = 19_000
/** How many analyses are timed together, because the clock has millisecond resolution. */
const RUNS_TIMED_TOGETHER = 5
/** The spans of a typical trace, including its root. */
const TYPICAL_SPANS = 6

const DOCS = HANDBOOK.map(doc => ({ slug: doc.slug, title: doc.title, content: contentOf(doc, doc.versions.length) }))
/** Prose in three languages, in distinct paragraphs. */
const PASSAGES = DOCS.flatMap(({ slug, content }) => content.split('\n\n').map(text => ({ slug, text })))

/** Passages with this many bytes in total, numbered from `first`. The numbers tell repeated passages apart. */
function passages(bytes: number, first = 0) {
  const taken: { slug: string; text: string }[] = []
  for (let left = bytes, index = first; left > 0; index++) {
    const { slug, text } = PASSAGES[index % PASSAGES.length] ?? { slug: '', text: '-' }
    taken.push({ slug, text: `${text} (${index})` })
    left -= text.length + 40
  }
  return taken
}

/** The spans below the root of a support answer in which one number was corrected. */
function typicalSpans() {
  const question = {
    question: 'How long do I have to return a lamp that I bought on sale, and who pays for return shipping?',
  }
  const chunks = passages(RETRIEVED_BYTES)
  const ranked = chunks.slice(0, Math.ceil(chunks.length / 3))
  const answer = { answer: 'You can return it within 14 days. We pay for return shipping.', sources: ['returns'] }
  return [
    span('classify', question, { topic: 'returns', language: 'en' }),
    span('retrieve', { query: 'return period sale item, return shipping' }, { chunks }),
    span('rerank', { ...question, chunks }, { chunks: ranked }),
    span('write', { ...question, chunks: ranked }, answer),
    span('check', answer, { isPolite: true, words: 12 }),
  ]
}

/** One of many spans, with about 1 KB of values. */
const manySpan = (index: number) =>
  span(`step-${index % 20}`, { index, context: passages(500, index) }, { index, notes: passages(500, 7 * index) })

const span = (step_id: string, input: object, output: object) => ({
  span_id: crypto.randomUUID(),
  step_id,
  input,
  output,
  status: 'ok',
  duration_ms: 400,
  timestamp: TIMESTAMP,
})

/** Adds a disputed trace with these spans, the handbook, and the prompts to a tenant. Returns the trace's key. */
async function newTrace(org: Org, spans: readonly ReturnType<typeof span>[]): Promise<number> {
  const trace_id = 'trace_measured'
  for (const doc of DOCS) await org.owner.post('/api/knowledge-docs', { projectSlug: 'support', ...doc })
  for (const [stepId, content] of [
    ['write', 'Answer from the passages alone, in the language of the question. Name the period in days. No prices.'],
    ['classify', 'Say what the question is about: returns, shipping, warranty, payment, or other.'],
  ]) {
    await org.owner.post('/api/prompts', { projectSlug: 'support', stepId, content })
  }
  const trace = { trace_id, name: 'support-answer', timestamp: TIMESTAMP, status: 'completed', metadata: {} }
  const { body: created } = await org.ingest.post('/api/v1/traces', trace)
  const events = [
    ...spans.map(body => ({ type: 'span', body: { trace_id, ...body } })),
    ...(['input', 'output'] as const).map(type => ({
      type: 'observation',
      body: { trace_id, type, data: type === 'input' ? spans[0]?.input : spans.at(-1)?.output, timestamp: TIMESTAMP },
    })),
  ]
  for (let first = 0; first < events.length; first += EVENTS_PER_BATCH) {
    await resultsOf(org, events.slice(first, first + EVENTS_PER_BATCH))
  }
  const written = spans.find(({ step_id }) => step_id === 'write')
  await org.owner.put(`/api/spans/${written?.span_id}/review`, {
    decision: 'correct',
    approvedOutput: { answer: 'You can return it within 30 days. We pay for return shipping.', sources: ['returns'] },
  })
  const comment = 'The period is 30 days, as the handbook has said since November.'
  await org.ingest.post('/api/v1/feedback', { trace_id, span_id: written?.span_id, rating: 'negative', comment })
  return Number(await env.DB.prepare('select key from traces where id = ?').bind(created.id).first('key'))
}

it.for([
  ['a typical trace', () => typicalSpans()],
  [
    'a very large trace',
    () => [...Array.from({ length: largeSpans - TYPICAL_SPANS }, (_, index) => manySpan(index)), ...typicalSpans()],
  ],
] as const)('%s', { timeout: 300_000 }, async ([, spansOf], { task }) => {
  const org = await newOrg()
  const spans = spansOf()
  const traceKey = await newTrace(org, spans)
  const subject = await findSubject(await storeOf(org), traceKey)
  if (!subject) throw new Error('there is no such trace')
  const analysisMs = (inARow: number) => {
    const start = performance.now()
    for (let each = 0; each < inARow; each++) attributeByRules(subject, findEvidence(subject), new Set())
    return (performance.now() - start) / inARow
  }
  const firstMs = analysisMs(1)
  const warmMs = Array.from({ length: times }, () => analysisMs(RUNS_TIMED_TOGETHER))
  const path = '/api/v1/traces/trace_measured/attribute'
  await org.bearer(withMessages().bindings).post(path, undefined, { prefer: 'respond-async' })
  const { bindings, costs } = measuredBindings()
  const status = await runAttribution(bindings, await storeOf(org, bindings), traceKey)
  if (status !== 'done') throw new Error(`the run's status is ${status}`)
  task.meta.attribution = {
    spans: spans.length + 1,
    bytes: spans.reduce((sum, { input, output }) => sum + utf8Length(JSON.stringify([input, output])), 0),
    shownSpans: subject.steps.length,
    omitted: subject.omitted,
    findings: findEvidence(subject).length,
    firstMs,
    warmMs,
    run: costs,
  }
})
