/** One call of the ingestion interface. */
export interface DemoCall {
  path: string
  body: object
}

const START = Date.parse('2026-11-16T08:00:00.000Z')
const HOUR_MS = 3_600_000

const HANDBOOK = [
  { doc: 'refunds', text: 'Purchases can be returned within 30 days of delivery. Refunds reach the card in 5 days.' },
  { doc: 'shipping', text: 'Standard shipping takes 3 to 5 working days. Express shipping takes 1 working day.' },
  { doc: 'warranty', text: 'Every device has a warranty of 24 months. Batteries are covered for 12 months.' },
] as const

/** What customers asked, the chunk that holds the answer, what was answered, and what a person made of it. */
const CONVERSATIONS = [
  { question: 'How long can I return a jacket?', chunk: 0, answer: 'You can return it within 30 days of delivery.' },
  { question: 'When is my refund on my card?', chunk: 0, answer: 'Refunds reach your card in 5 days.' },
  { question: 'How fast is express shipping?', chunk: 1, answer: 'Express shipping takes 1 working day.' },
  {
    question: 'How fast is standard shipping?',
    chunk: 1,
    answer: 'Standard shipping takes 1 working day.',
    feedback: {
      rating: 'negative',
      comment: 'That is express. Standard takes 3 to 5 working days.',
      correction: { answer: 'Standard shipping takes 3 to 5 working days.' },
    },
  },
  { question: 'Is my phone still under warranty after a year?', chunk: 2, answer: 'Yes, the warranty is 24 months.' },
  {
    question: 'Is the battery covered after 18 months?',
    chunk: 2,
    answer: 'Yes, the warranty is 24 months.',
    feedback: {
      rating: 'negative',
      comment: 'Batteries are covered for 12 months only.',
      correction: { answer: 'No, batteries are covered for 12 months.' },
    },
  },
  {
    question: 'Can I return a jacket after 20 days?',
    chunk: 0,
    answer: 'Yes, returns are possible within 30 days.',
    feedback: { rating: 'positive' },
  },
  { question: 'Do you ship in the evening?', chunk: 1, answer: undefined },
] as const

/** The demo's calls, the same on every machine and safe to send twice. */
export function demoTraces(): DemoCall[] {
  return CONVERSATIONS.flatMap((conversation, index) => {
    const trace_id = `trace_${index.toString(16).padStart(22, '0')}`
    const at = (seconds: number) => new Date(START + index * HOUR_MS + seconds * 1000).toISOString()
    const observed = (number: number, fields: object) => ({
      path: '/api/v1/observations',
      body: { trace_id, observation_id: demoUuid(index, number), timestamp: at(number), ...fields },
    })
    const trace = {
      trace_id,
      name: 'support-answer',
      timestamp: at(0),
      metadata: { group_id: `conversation-${index >> 1}`, channel: index % 2 === 0 ? 'chat' : 'email', language: 'en' },
    }
    const chunk = HANDBOOK[conversation.chunk]
    const calls: DemoCall[] = [
      { path: '/api/v1/traces', body: { ...trace, status: 'running' } },
      observed(1, { type: 'input', data: { question: conversation.question } }),
      observed(2, { type: 'state', key: 'retrieved_chunks', data: [chunk] }),
      observed(3, { type: 'state', key: 'config', data: { model: 'small-1', temperature: 0 } }),
    ]
    if (conversation.answer !== undefined) {
      calls.push(observed(4, { type: 'output', data: { answer: conversation.answer, source: chunk.doc } }))
      calls.push({ path: '/api/v1/traces', body: { ...trace, status: 'completed', duration_ms: 900 + index * 130 } })
    }
    if ('feedback' in conversation) {
      const labeller = { name: 'Ada', email: 'ada@example.com' }
      const body = { trace_id, feedback_id: `demo-${index}`, timestamp: at(60), labeller, ...conversation.feedback }
      calls.push({ path: '/api/v1/feedback', body })
    }
    return calls
  })
}

/** A UUID of version 8, of our own making: the same for the same numbers. */
const demoUuid = (trace: number, number: number): string =>
  `00000000-0000-8000-8000-${(trace * 100 + number).toString(16).padStart(12, '0')}`
