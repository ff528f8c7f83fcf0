import { env } from 'cloudflare:workers'
import { inject } from 'vitest'
import type { Finding } from '../../src/attribution/finding.ts'
import { modelEngine } from '../../src/attribution/model/engine.ts'
import type { ErrorCategory, ErrorType } from '../../src/domain/attribution.ts'
import type { JobError } from '../../src/domain/job-error.ts'
import type { Step, Subject } from '../../src/domain/subject.ts'
import type { Env } from '../../src/env.ts'
import { stored } from './database.ts'
import type { ModelRequest, Reply } from './model-wire.ts'

const AT = Date.parse('2026-11-01T12:00:00Z')

/** A step. By default, it's the root. */
export const aStep = (fields: Partial<Step> = {}): Step => ({
  spanId: 'root',
  isRoot: !fields.parentSpanId,
  parentSpanId: null,
  stepId: 'answer',
  timestamp: AT,
  durationMs: 1200,
  status: 'ok',
  input: null,
  output: null,
  hasOutput: true,
  state: {},
  metadata: {},
  prompt: null,
  review: null,
  precedents: [],
  ...fields,
})

/** A disputed support answer. It says that the warranty lasts 12 months, but the doc and the reviewer say 24. */
export const aSubject = (fields: Partial<Subject> = {}): Subject => ({
  receivedAt: AT,
  timestamp: AT,
  isCompleted: true,
  steps: [
    aStep({ input: { question: 'How long is the warranty on the X200?' }, output: { answer: 'It is 12 months.' } }),
    aStep({
      spanId: 'retrieve',
      parentSpanId: 'root',
      stepId: 'retrieve',
      input: { query: 'warranty X200' },
      output: { chunks: [{ slug: 'warranty', text: 'The X200 has a warranty of 24 months.' }] },
    }),
    aStep({
      spanId: 'write',
      parentSpanId: 'root',
      stepId: 'write',
      input: { question: 'How long is the warranty on the X200?' },
      output: { answer: 'It is 12 months.' },
      prompt: { content: 'Answer from the retrieved chunks only.', outputSchema: null },
      review: { state: 'corrected', approvedOutput: { answer: 'It is 24 months.' }, userId: 'ann', comment: null },
    }),
  ],
  knowledgeDocs: [{ slug: 'warranty', title: 'Warranty', content: 'The X200 has a warranty of 24 months.' }],
  feedback: [
    { spanId: 'root', userId: 'ann', rating: 'negative', comment: 'Twice that.', correction: null, source: 'api' },
  ],
  omitted: [],
  ...fields,
})

export const aFinding: Finding = {
  kind: 'added_value_in_context',
  spanId: 'write',
  path: 'output.answer',
  note: 'the correction, 24 months, occurs in a retrieved chunk',
  strength: 0.9,
}

/** A model's correct answer about `aSubject`. It refers to the spans as `root`, `s1` (retrieve), and `s2` (write). */
export const anAnswer = (fields: object = {}) => ({
  quotes: [{ span_id: 's1', path: 'output.chunks[0].text', quote: 'a warranty of 24 months' }],
  reasoning: 'The chunk says 24 months. The answer says 12.',
  error_type: 'context_misinterpretation',
  confidence: 0.8,
  span_id: 's2',
  alternatives: [
    { error_type: 'reasoning_error', confidence: 0.1 },
    { error_type: 'hallucinated_content', confidence: 0.07 },
  ],
  ...fields,
})

/** The error types that every deployment has. */
export async function theErrorTypes(): Promise<ErrorType[]> {
  const { results } = await stored.prepare('select error_type, id, name, category, rule from error_types').all<{
    error_type: string
    id: string
    name: string
    category: ErrorCategory
    rule: string
  }>()
  return results.map(({ error_type, ...rest }) => ({ errorType: error_type, ...rest }))
}

/** A provider with these replies, and bindings with the settings for it. */
export async function aProvider(replies: readonly Reply[], settings: Partial<Env> = {}) {
  const session = `${inject('modelServer')}/${crypto.randomUUID()}`
  await fetch(`${session}/replies`, { method: 'PUT', body: JSON.stringify(replies) })
  const bindings: Env = {
    ...env,
    ATTRIBUTION_MODEL: 'openai/test-model',
    ATTRIBUTION_BASE_URL: `${session}/v1`,
    ATTRIBUTION_API_KEY: 'sk-the-secret',
    ...settings,
  }
  const modelRequests = async (): Promise<ModelRequest[]> => (await fetch(`${session}/asked`)).json()
  return { bindings, modelRequests }
}

interface Asking {
  subject?: Subject
  findings?: readonly Finding[]
  settings?: Partial<Env>
  callMs?: number
  signal?: AbortSignal
  reserveCall?: () => Promise<void>
}

/**
 * Asks a model with these replies about `aSubject`. Returns its answer or the error, and the requests that it received.
 */
export async function askModelThat(replies: readonly Reply[], asking: Asking = {}) {
  const { subject = aSubject(), findings = [aFinding], settings, callMs } = asking
  const { signal = new AbortController().signal } = asking
  const { bindings, modelRequests } = await aProvider(replies, settings)
  const engine = modelEngine(bindings, callMs)
  if (!engine) throw new Error('no model is configured')
  const context = { signal, reserveCall: asking.reserveCall ?? (async () => {}) }
  const [outcome] = await Promise.allSettled([engine(subject, findings, await theErrorTypes(), context)])
  return {
    result: outcome.status === 'fulfilled' ? outcome.value : undefined,
    error: outcome.status === 'rejected' ? (outcome.reason as JobError) : undefined,
    requests: await modelRequests(),
  }
}
