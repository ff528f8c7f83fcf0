import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { inputPreview, outputPreview } from '../../src/domain/preview.ts'
import { PREVIEW_LENGTH } from '../../src/limits.ts'

const previewOf = (value: Json) => outputPreview(JSON.stringify(value))
const askedOf = (...inputs: Json[]) =>
  inputPreview(inputs.map(input => ({ json: JSON.stringify(input), isMessage: false })))

const system = { role: 'system', content: 'You help customers.' }
const question = { role: 'user', content: 'How long is the warranty?' }

describe('the preview of an output', () => {
  it.for<[name: string, output: Json, preview: string | null]>([
    ['a string as it is', '  It is 24 months.\n', 'It is 24 months.'],
    ['an object as JSON', { total: 12, currency: 'EUR' }, '{"total":12,"currency":"EUR"}'],
    ['a number in an object with its name', { dimensions: 768 }, '{"dimensions":768}'],
    ['the text of an object with one field', { answer: 'Yes' }, 'Yes'],
    ['the text of a message', { role: 'assistant', content: 'Yes' }, 'Yes'],
    [
      'the text of a message in parts',
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'One.' }, { type: 'image' }, { type: 'text', text: 'Two.' }],
      },
      'One.\nTwo.',
    ],
    [
      'the last reply of a conversation',
      { messages: [question, { role: 'assistant', content: 'Two years' }] },
      'Two years',
    ],
    [
      'a call to a tool as JSON',
      { role: 'assistant', content: null, tool_calls: [{ name: 'search' }] },
      '{"role":"assistant","content":null,"tool_calls":[{"name":"search"}]}',
    ],
    ['false', false, 'false'],
    ['an empty string', '', ''],
    ['nothing for null', null, null],
  ])('shows %s', ([, output, preview], { expect }) => {
    expect(previewOf(output)).toBe(preview)
  })

  it('has at most PREVIEW_LENGTH characters, and ends after a word', ({ expect }) => {
    const whole = 'x'.repeat(PREVIEW_LENGTH)
    expect(previewOf(whole)).toBe(whole)
    expect(previewOf(`${whole}x`)).toBe(`${whole.slice(1)}…`)
    const words = 'warranty '.repeat(50)
    const cut = previewOf(words) ?? ''
    expect(cut).toMatch(/^(warranty )+warranty…$/)
    expect(cut.length).toBeGreaterThan(PREVIEW_LENGTH - 10)
    expect(cut.length).toBeLessThanOrEqual(PREVIEW_LENGTH)
  })

  it('never splits a character, however it is composed', ({ expect }) => {
    const family = '👨‍👩‍👧‍👦'
    for (let shift = 0; shift < family.length; shift++) {
      const cut = previewOf('x'.repeat(shift) + family.repeat(PREVIEW_LENGTH)) ?? ''
      expect(cut).toMatch(new RegExp(`^x{${shift}}(${family})+…$`))
      expect(cut.length).toBeLessThanOrEqual(PREVIEW_LENGTH)
    }
  })

  it('marks a cut value with an ellipsis', ({ expect }) => {
    expect(outputPreview('{"role":"assistant","content":"It is 24 mon')).toBe('It is 24 mon…')
    expect(outputPreview('"')).toBe('…')
  })
})

describe('the preview of an input', () => {
  it.for<[name: string, inputs: Json[], preview: string | null]>([
    [
      'what the user said last in a conversation',
      [[system, question, { role: 'assistant', content: 'Wait' }]],
      'How long is the warranty?',
    ],
    [
      'what the user said last in a request to a model',
      [{ model: 'gpt', messages: [system, question] }],
      'How long is the warranty?',
    ],
    [
      "what the user said last in LangChain's form",
      [
        {
          messages: [
            { type: 'human', content: 'How long?' },
            { type: 'ai', content: 'Wait' },
          ],
        },
      ],
      'How long?',
    ],
    ['several inputs merged', [{ question: 'How long?' }, { locale: 'en' }], '{"question":"How long?","locale":"en"}'],
    ['nothing without inputs', [], null],
    ['nothing for null', [null], null],
  ])('shows %s', ([, inputs, preview], { expect }) => {
    expect(askedOf(...inputs)).toBe(preview)
  })

  it('shows the last user message even if messages arrived one at a time', ({ expect }) => {
    const messages = [system, question].map(message => ({ json: JSON.stringify(message), isMessage: true }))
    expect(inputPreview(messages)).toBe('How long is the warranty?')
    expect(inputPreview([{ json: '{"topic":"a"}', isMessage: false }, ...messages])).toBe('How long is the warranty?')
  })
})
