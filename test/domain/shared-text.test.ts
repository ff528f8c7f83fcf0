import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { chooseReviewed, inFormOf, type SharingSpan, sharedTextHash } from '../../src/domain/shared-text.ts'
import { MAX_SHARED_TEXT_LENGTH } from '../../src/limits.ts'

const TEXT = 'The warranty lasts 24 months.'
const OTHER = 'The warranty lasts 12 months.'

/** The forms in which clients send a model's answer. */
const forms = (text: string): Record<string, Json> => ({
  text,
  'text with whitespace around it': `${text}\n`,
  'a message': { role: 'assistant', content: text },
  'a message with empty fields': { role: 'assistant', content: text, refusal: null, tool_calls: [], annotations: [] },
  'a message with one text part': { role: 'assistant', content: [{ type: 'text', text }] },
  'a list with one message': [{ role: 'assistant', content: text, finish_reason: 'stop' }],
  'a conversation that ends with the reply': {
    messages: [
      { role: 'user', content: 'How long does the warranty last?' },
      { role: 'assistant', content: text },
    ],
  },
  "LangChain's messages": {
    messages: [
      { type: 'human', content: 'How long?' },
      { type: 'ai', content: text, id: 'run-1' },
    ],
  },
  'a serialized LangChain message': {
    lc: 1,
    type: 'constructor',
    id: ['langchain', 'AIMessage'],
    kwargs: { content: text },
  },
  'an object with one field': { answer: text },
  'nested objects with one field': { result: { output: text } },
  "OpenAI's chat completion": {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }],
    usage: { total_tokens: 12 },
  },
  "OpenAI's response": {
    id: 'resp_1',
    object: 'response',
    output: [
      { type: 'reasoning', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
    ],
  },
  "Anthropic's message": {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
  },
  "Gemini's response": {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { totalTokenCount: 12 },
  },
  "Bedrock's response": { output: { message: { role: 'assistant', content: [{ text }] } }, stopReason: 'end_turn' },
  "Ollama's response": { model: 'llama3', message: { role: 'assistant', content: text }, done: true },
})

const hash = (output: Json) => sharedTextHash(JSON.stringify(output))

describe('the text of an output', () => {
  it.for(Object.entries(forms(TEXT)))('is found in %s', ([, output], { expect }) => {
    expect(hash(output)).toBe(hash(TEXT))
    expect(hash(output)).not.toBe(hash(OTHER))
  })

  it.for([
    ['an object', { label: 'refund', confidence: 0.9 }, { confidence: 0.9, label: 'refund' }],
    ['an object written as JSON', { label: 'refund', confidence: 0.9 }, '{\n  "confidence": 0.9, "label": "refund"\n}'],
    [
      'an object written as JSON in a message',
      { label: 'refund', confidence: 0.9 },
      { role: 'assistant', content: '{"label":"refund","confidence":0.9}' },
    ],
    ['a list', [1, 2, 3], [1, 2, 3]],
    ['an object with one short field', { label: 'refund' }, { label: 'refund' }],
    [
      'a call to a tool',
      { role: 'assistant', content: null, tool_calls: [{ name: 'a' }] },
      { tool_calls: [{ name: 'a' }], role: 'assistant', content: null },
    ],
  ] satisfies [string, Json, Json][])('is the same for equal values: %s', ([, left, right], { expect }) => {
    expect(hash(left)).not.toBeNull()
    expect(hash(left)).toBe(hash(right))
  })

  it.for([
    ['null', null],
    ['a number', 42],
    ['short text', 'refund'],
    ['a short message', { role: 'assistant', content: 'refund' }],
    ['an empty object', {}],
    ['an empty list', []],
    ['15 characters', 'x'.repeat(15)],
    ['15 characters of two code units each', '😀'.repeat(15)],
    ['an output over the limit', 'x'.repeat(MAX_SHARED_TEXT_LENGTH)],
  ] satisfies [string, Json][])('is too short or too long to be shared: %s', ([, output], { expect }) => {
    expect(hash(output)).toBeNull()
  })

  it('is shared only if it has at least 16 characters', ({ expect }) => {
    expect(hash('x'.repeat(16))).not.toBeNull()
    expect(hash('😀'.repeat(16))).not.toBeNull()
  })

  it.for([
    ['different text', OTHER],
    ['text with something before it', `Yes. ${TEXT}`],
    ['an object with a second field', { answer: TEXT, confidence: 0.9 }],
    [
      'a conversation that ends with a question',
      [
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: TEXT },
      ],
    ],
    ['a message that also calls a tool', { role: 'assistant', content: TEXT, tool_calls: [{ name: 'a' }] }],
    [
      'content with two parts',
      {
        role: 'assistant',
        content: [
          { type: 'text', text: TEXT },
          { type: 'text', text: 'b' },
        ],
      },
    ],
  ] satisfies [string, Json][])('differs for %s', ([, output], { expect }) => {
    expect(hash(output)).not.toBe(hash(TEXT))
  })
})

/** Runs `inFormOf` on values instead of JSON strings. */
function written(approved: Json, { from, to }: { from: Json; to: Json }): Json | undefined {
  const json = inFormOf(JSON.stringify(approved), { from: JSON.stringify(from), to: JSON.stringify(to) })
  return json === undefined ? undefined : JSON.parse(json)
}

describe('a correction', () => {
  const pairs = Object.entries(forms(TEXT)).flatMap(([from, source]) =>
    Object.entries(forms(TEXT)).map(([to, target]) => ({ from, to, source, target })),
  )
  /** A form of the corrected text, without whitespace around it. */
  const corrected = (form: string) => (form.startsWith('text') ? OTHER : forms(OTHER)[form])

  it('is written in any other form', ({ expect }) => {
    for (const { from, to, source, target } of pairs) {
      const approved = corrected(from) ?? null
      expect(written(approved, { from: source, to: target }), `${from} -> ${to}`).toEqual(corrected(to))
    }
  })

  it('is parsed or written as JSON if the other form requires it', ({ expect }) => {
    const [value, changed] = [
      { label: 'refund', days: 3 },
      { label: 'return', days: 3 },
    ]
    const message = (content: Json) => ({ role: 'assistant', content })
    const text = message(JSON.stringify(value))
    expect(written(changed, { from: value, to: text })).toEqual(message(JSON.stringify(changed)))
    expect(written(message(JSON.stringify(changed)), { from: text, to: value })).toEqual(changed)
    expect(written(message('I cannot tell.'), { from: text, to: value })).toBeUndefined()
  })

  it.for([
    ['changes another field', { role: 'assistant', content: OTHER, name: 'Ada' }],
    ['removes the text', { role: 'assistant', content: null }],
    ['adds a tool call', { role: 'assistant', content: null, tool_calls: [{ name: 'a' }] }],
    ['has another form', OTHER],
    ['replaces the text with an object', { role: 'assistant', content: { answer: OTHER } }],
  ] satisfies [string, Json][])('has no other form if it %s', ([, approved], { expect }) => {
    expect(written(approved, { from: { role: 'assistant', content: TEXT }, to: TEXT })).toBeUndefined()
  })

  it('is unchanged after a conversion to another form and back', () => {
    const values = Object.values(forms(TEXT))
    fc.assert(
      fc.property(
        fc.constantFrom(...values),
        fc.constantFrom(...values),
        fc.string({ minLength: 1 }),
        (from, to, text) => {
          const approved = written(text, { from: TEXT, to: from })
          if (approved === undefined) return false
          const converted = written(approved, { from, to })
          return (
            converted !== undefined &&
            JSON.stringify(written(converted, { from: to, to: from })) === JSON.stringify(approved)
          )
        },
      ),
    )
  })

  it('keeps a field named __proto__', ({ expect }) => {
    const from = JSON.parse(`{"__proto__": "${TEXT}"}`)
    const ofObject = written(OTHER, { from: TEXT, to: from })
    expect(JSON.stringify(ofObject)).toBe(`{"__proto__":"${OTHER}"}`)
    expect(written(ofObject ?? null, { from, to: TEXT })).toBe(OTHER)
  })
})

describe('the span that a root is reviewed with', () => {
  const span = (id: string, fields: Partial<SharingSpan> = {}): SharingSpan => ({
    id,
    depth: 1,
    timestamp: 0,
    receivedAt: 0,
    firstReviewedAt: null,
    ...fields,
  })

  it.for([
    ['nothing', [], undefined],
    ['the only one', [span('a')], 'a'],
    ['the deepest', [span('a', { depth: 2 }), span('b', { depth: 3 }), span('c')], 'b'],
    ['the earlier of two equally deep spans', [span('a', { timestamp: 2 }), span('b', { timestamp: 1 })], 'b'],
    [
      'the earlier of two, even if it arrives later',
      [span('a', { timestamp: 2 }), span('b', { timestamp: 1, receivedAt: 5 })],
      'b',
    ],
    ['the one with the smaller id if the times are equal', [span('b'), span('a')], 'a'],
    ['a deeper one that arrives later', [span('a'), span('b', { depth: 2, receivedAt: 5 })], 'b'],
    [
      'the reviewed one, even if a deeper one arrives later',
      [span('a', { firstReviewedAt: 3 }), span('b', { depth: 2, receivedAt: 5 })],
      'a',
    ],
    [
      'the reviewed one, even if the later one is also reviewed',
      [span('a', { firstReviewedAt: 3 }), span('b', { depth: 2, receivedAt: 5, firstReviewedAt: 6 })],
      'a',
    ],
    [
      'the deepest, even if only another span was reviewed',
      [span('a', { firstReviewedAt: 3 }), span('b', { depth: 2 })],
      'b',
    ],
    [
      'the deepest, even if another span was reviewed first',
      [span('a', { firstReviewedAt: 3 }), span('b', { depth: 2, firstReviewedAt: 4 })],
      'b',
    ],
  ] satisfies [string, SharingSpan[], string | undefined][])('is %s', ([, spans, expected], { expect }) => {
    expect(chooseReviewed(spans)?.id).toBe(expected)
    expect(chooseReviewed(spans.toReversed())?.id).toBe(expected)
  })
})
