import type { Basis, Example } from '../../src/problems/suggestion/question.ts'

export const anExample = (fields: Partial<Example> = {}): Example => ({
  spanId: 'span-1',
  stepId: 'answer',
  input: { question: 'How long is the warranty on the X200?' },
  state: { chunks: [{ text: 'The X200 has a warranty of 24 months.' }] },
  output: { answer: 'It is 12 months.' },
  approved: { answer: 'It is 24 months.' },
  comment: 'The chunk says 24 months.',
  ...fields,
})

/** A problem in a step that answers customers' questions. */
export const aBasis = (fields: Partial<Basis> = {}): Basis => ({
  stepId: 'answer',
  errorType: { name: 'hallucinated_content', rule: 'The output states something that no source contains.' },
  doc: null,
  prompt: {
    content: 'You answer customers.\nBe brief.\nQuestion: {{input.question}}\n',
    outputSchema: { type: 'object', properties: { answer: { type: 'string' } } },
  },
  examples: [anExample(), anExample({ spanId: 'span-2', comment: null })],
  ...fields,
})

/** A change as a model writes it. */
export const aChange = (fields: object = {}) => ({
  examples: ['e1'],
  reason: 'The answer ignores the retrieved chunks.',
  place: 'replace',
  before: 'Be brief.',
  after: 'Be brief. State only facts from the chunks.',
  ...fields,
})
