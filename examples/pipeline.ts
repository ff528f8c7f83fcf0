/** Answers a question from a knowledge base, and records the run with Countersign's client. */
import { Countersign } from 'countersign/client'

const { COUNTERSIGN_URL: baseUrl = 'http://localhost:8787', COUNTERSIGN_KEY: apiKey = '' } = process.env
const question = process.argv[2] ?? 'How long is the warranty?'

const countersign = new Countersign({ baseUrl, apiKey, onLoss: loss => console.error('Not recorded:', loss) })

/** Stands in for a search in your knowledge base. */
async function retrieve(query: string): Promise<{ id: string; text: string }[]> {
  const documents = [
    { id: 'warranty', text: 'The warranty is 24 months.' },
    { id: 'returns', text: 'You can return a device within 14 days.' },
  ]
  return documents.filter(({ id }) => query.toLowerCase().includes(id.slice(0, 6)))
}

/** Stands in for a call to a model. */
async function generate(_question: string, documents: readonly { text: string }[]): Promise<{ answer: string }> {
  return { answer: documents[0]?.text ?? "I don't know." }
}

const trace = countersign.startTrace('support-answer', { metadata: { group_id: 'example' } })
trace.observe('input', { question })
const documents = await trace.span('retrieve', () => retrieve(question), { input: { question } })
trace.state('retrieved_chunks', documents)
const output = await trace.span('answer', () => generate(question, documents), { input: { question } })
trace.complete({ output })

// Wait until everything is sent before the script exits.
await countersign.flush()
if (countersign.lost > 0) process.exitCode = 1
console.log(trace.id)
