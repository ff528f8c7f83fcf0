import { setTimeout as pause } from 'node:timers/promises'
import * as v from 'valibot'
import type { Client } from '../client.ts'
import type { LabeledCase } from './cases.ts'

const Key = v.object({ key: v.string() })
const Traces = v.object({ traces: v.tuple([v.object({ id: v.string() })]) })
const Trace = v.object({
  spans: v.array(v.object({ id: v.string(), stepId: v.string(), parentSpanId: v.nullable(v.string()) })),
})
const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })
const Answer = v.object({
  error_type: v.string(),
  error_type_category: v.string(),
  confidence: v.number(),
  span_id: v.nullable(v.string()),
  engine: v.string(),
  duration_ms: v.number(),
})

const Failure = v.object({ error: v.string() })

const POLL_MS = 1000

/** An engine's answer for a case. */
export interface CaseAnswer {
  errorType: string
  category: string
  confidence: number
  /** The blamed span's step id. Null if no span is blamed, or if it's the root. */
  span: string | null
  engine: string
  durationMs: number
}

/**
 * Posts a case into its own project through the public API, and requests its attribution. A fault is the engine's
 * reason for not answering.
 */
export async function postCase(
  owner: Client,
  projectSlug: string,
  labeled: LabeledCase,
): Promise<{ answer: CaseAnswer } | { fault: string }> {
  await owner.call('POST', '/api/projects', { slug: projectSlug, name: labeled.id })
  const made = await owner.call('POST', '/api/api-keys', {
    name: labeled.id,
    projectSlug,
    scopes: ['ingest', 'read', 'review', 'manage'],
  })
  const client = owner.with({ authorization: `Bearer ${v.parse(Key, JSON.parse(made.body)).key}` })
  for (const { outputSchema, ...prompt } of labeled.prompts) {
    await client.call('POST', '/api/prompts', { projectSlug, ...prompt, ...(outputSchema && { outputSchema }) })
  }
  for (const doc of labeled.knowledgeDocs) await client.call('POST', '/api/knowledge-docs', { projectSlug, ...doc })
  const { results } = v.parse(
    Results,
    JSON.parse((await client.call('POST', '/api/v1/batch', { events: labeled.events })).body),
  )
  const refused = results.find(({ status }) => status >= 300)
  if (refused) throw new Error(`${labeled.id}: an event was rejected: ${JSON.stringify(refused)}`)
  const { traces } = v.parse(
    Traces,
    JSON.parse((await client.call('GET', `/api/traces?projectSlug=${projectSlug}`)).body),
  )
  const { spans } = v.parse(Trace, JSON.parse((await client.call('GET', `/api/traces/${traces[0].id}`)).body))
  for (const { step_id, decision, approved_output } of labeled.reviews) {
    const span = spans.find(({ stepId }) => stepId === step_id)
    if (!span) throw new Error(`${labeled.id}: there is no step ${step_id} to review`)
    const body = { decision, ...(decision === 'correct' && { approvedOutput: approved_output }) }
    // Uses the owner's key instead of the project's, which posted the feedback: a reviewer isn't the pipeline.
    await owner.call('PUT', `/api/spans/${span.id}/review`, body)
  }
  const traceId = labeled.events.find(({ type }) => type === 'trace')?.body.trace_id
  let response = await client.send('POST', `/api/v1/traces/${traceId}/attribute`)
  while (response.status === 202) {
    await pause(POLL_MS)
    response = await client.send('GET', `/api/v1/traces/${traceId}/attribution`)
  }
  if (response.status !== 200) return { fault: v.parse(Failure, JSON.parse(response.body)).error }
  const { span_id, ...answer } = v.parse(Answer, JSON.parse(response.body))
  return {
    answer: {
      errorType: answer.error_type,
      category: answer.error_type_category,
      confidence: answer.confidence,
      span: spans.find(({ id, parentSpanId }) => id === span_id && parentSpanId !== null)?.stepId ?? null,
      engine: answer.engine,
      durationMs: answer.duration_ms,
    },
  }
}
