import { MAX_CONTENT_BYTES, MAX_CORRECTION_BYTES, MAX_SUBJECT_SPANS } from '../../../src/limits.ts'
import { type Attack, type Attacks, addTrace, part, span, textFrom, times } from '../attack.ts'

const VALUE_LENGTH = 250_000
const KINDS: Readonly<Record<string, (index: number) => string>> = {
  words: index => `w${(index * 7919).toString(36)}ing`,
  numbers: index => `${(index * 7919) % 1_000_003}.${index % 100}`,
  sums: index => `${index} + ${index + 1} = ${2 * index + 2};`,
  dates: index => new Date(index * 86_400_000).toISOString().slice(0, 10),
  'ambiguous dates': index => `${1 + (index % 12)}/${1 + (index % 12)}/${1900 + (index % 200)}`,
  identifiers: index => `ORD-${index}-${(index * 31).toString(16)}`,
  'quoted rules': index => `Never say "${index} days" unless the customer asked for ${index + 1}.`,
  'endless letters': () => 'a'.repeat(5000),
  brackets: () => '[[((<<{{""',
}

/** Attributions of traces whose values require as many comparisons as possible. */
export const attribution: Attacks = share => ({
  ...Object.fromEntries(Object.entries(KINDS).map(([name, itemAt]) => [`a string of ${name}`, textOf(share, itemAt)])),
  [`${MAX_SUBJECT_SPANS} spans of numbers`]: async client => {
    const text = textFrom(10_000, index => `${index * 3}.5`)
    const spans = times(part(share, MAX_SUBJECT_SPANS), index =>
      span({ input: { index, text }, output: { answer: `${index} ${text}` } }),
    )
    return attributing(client, [...spans, ...disputed(text.slice(0, 1000), 'No: 17.')])
  },
  'a list of 60,000 objects': async client => {
    const items = times(part(share, 60_000), id => ({ id, price: id / 7, name: `Item ${id}` }))
    const corrected = items.slice(0, part(share, 2000)).map(item => ({ ...item, price: item.price + 1 }))
    return attributing(client, [
      span({ input: { items }, output: { items } }),
      ...disputed({ items }, { items: corrected }),
    ])
  },
})

function textOf(share: number, itemAt: (index: number) => string): Attack {
  return async client => {
    const text = textFrom(part(share, VALUE_LENGTH), itemAt)
    const other = textFrom(part(share, VALUE_LENGTH), index => itemAt(index + 1))
    const correction = textFrom(part(share, MAX_CORRECTION_BYTES / 2), index => itemAt(index + 2))
    const content = textFrom(part(share, MAX_CONTENT_BYTES - 1000), itemAt)
    const slug = `doc-${Math.random().toString(36).slice(2)}`
    await client.call('POST', '/api/knowledge-docs', { projectSlug: 'bench', slug, title: 'Attack', content })
    await client.call('POST', '/api/prompts', { projectSlug: 'bench', stepId: slug, content })
    return attributing(client, [
      span({ step_id: 'retrieve', input: { text }, output: { chunks: [other, text] } }),
      span({ step_id: slug, input: { text, other }, output: { answer: other } }),
      ...disputed(other, { answer: correction }),
    ])
  }
}

const disputed = (output: unknown, correction: unknown) => [
  { type: 'observation' as const, body: { type: 'output', data: { answer: output } } },
  {
    type: 'feedback' as const,
    body: {
      rating: 'negative',
      correction: typeof correction === 'string' ? { answer: correction } : (correction as object),
      comment: 'Wrong.',
    },
  },
]

async function attributing(client: Parameters<Attack>[0], events: Parameters<typeof addTrace>[1]) {
  const { traceId } = await addTrace(client, events, {}, 1)
  return () => client.send('POST', `/api/v1/traces/${traceId}/attribute?force=true`)
}
