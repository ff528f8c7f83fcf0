import { randomUUID } from 'node:crypto'
import { newOrganization, type Organization } from './organization.ts'
import { time } from './sample-project.ts'

export const CITED = 'Points expire after **24 months** without a purchase.'

export interface JudgedProject extends Organization {
  traceId: string
  retrieveId: string
  answerId: string
  promptId: string
}

const CHUNKS = [
  { doc: 'returns', text: `Returns take **14 days**.\n\n${'You need the receipt. '.repeat(60)}`, score: 0.91 },
  {
    doc: 'warranty',
    text: 'The warranty lasts 24 months.\n\n- Batteries: 12 months\n- Headlamps: 36 months',
    score: 0.87,
  },
  { doc: 'loyalty', version: 1, text: CITED, score: 0.62 },
]

/** A project that has a trace whose answer cites a chunk, and the answer's doc, prompt, and guideline. */
export async function judgedProject(): Promise<JudgedProject> {
  const organization = await newOrganization()
  const { make, post, call, project, ownerKey } = organization
  const text = { projectSlug: project.slug }
  const docId = await make('/api/knowledge-docs', {
    ...text,
    slug: 'loyalty',
    title: 'Loyalty program',
    content: CITED,
  })
  await call('POST', `/api/knowledge-docs/${docId}/versions`, { content: 'A later text', activate: true }, ownerKey)
  const promptId = await make('/api/prompts', {
    ...text,
    stepId: 'generate-answer',
    content: '# Rules\n\nAnswer only from the chunks. Cite your **sources**.',
    outputSchema: {
      type: 'object',
      properties: {
        answer: { type: 'string', description: 'What the customer reads, in the language of the question' },
        sources: { type: 'array', items: { type: 'string' } },
      },
    },
  })
  await call(
    'PUT',
    `/api/projects/${project.id}/guidelines/generate-answer`,
    { text: 'Correct every **period** that the docs contradict. Leave the style alone.' },
    ownerKey,
  )
  const [trace_id, retrieveId, answerId] = ['trace_judged', randomUUID(), randomUUID()]
  const answer =
    'Your points expire after **18 months** without a purchase.\n\n' +
    'To keep them:\n\n1. Sign in to the app.\n2. Buy anything, even a sticker.\n\n' +
    'Is there anything else that we can help you with today? A colleague reads every message.'
  await post([
    { type: 'trace', body: { trace_id, name: 'support-answer', timestamp: time(0), status: 'completed' } },
    {
      type: 'span',
      body: {
        trace_id,
        span_id: retrieveId,
        step_id: 'retrieve',
        input: { query: 'points expire' },
        output: { chunks: CHUNKS },
        timestamp: time(10),
      },
    },
    {
      type: 'span',
      body: {
        trace_id,
        span_id: answerId,
        step_id: 'generate-answer',
        input: { question: 'When do my points expire?' },
        output: { answer, sources: ['loyalty'] },
        timestamp: time(500),
        duration_ms: 800,
      },
    },
  ])
  return { ...organization, traceId: trace_id, retrieveId, answerId, promptId }
}
