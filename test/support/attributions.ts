import { TIME } from './builders.ts'
import { stored } from './database.ts'

/** The fields that may differ between answers. `createdAt` is an ISO time. */
interface Answered {
  errorType: string
  confidence: number
  engine: string
  engineVersion: string
  spanId: string | null
  createdAt: string
  inputTokens: number | null
  outputTokens: number | null
  costUsd: number | null
}

/** Stores an engine's next answer on the trace, bypassing the pipeline. Returns the answer's id. */
export async function putAnswer(traceId: string, fields: Partial<Answered> = {}): Promise<string> {
  const id = crypto.randomUUID()
  const answer: Answered = {
    errorType: 'reasoning_error',
    confidence: 0.5,
    engine: 'rules',
    engineVersion: '2',
    spanId: null,
    createdAt: TIME,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    ...fields,
  }
  const alternatives = JSON.stringify([{ errorType: 'system_failure', confidence: 0.2 }])
  const evidence = JSON.stringify([{ spanId: answer.spanId, path: 'output', note: 'It says no.' }])
  await stored.batch([
    stored
      .prepare(
        `insert into attributions (trace_key, number, id, project_key, created_at, error_type, confidence, span_id,
         reasoning, alternatives, evidence, engine, duration_ms, input_tokens, output_tokens, cost_usd, engine_version)
       select key, 1 + (select count(*) from attributions where trace_key = key), ?2, project_key, ?3, ?4, ?5, ?6,
         'Because.', ?7, ?8, ?9, 12, ?10, ?11, ?12, ?13 from traces where id = ?1`,
      )
      .bind(
        traceId,
        id,
        Date.parse(answer.createdAt),
        answer.errorType,
        answer.confidence,
        answer.spanId,
        alternatives,
        evidence,
        answer.engine,
        answer.inputTokens,
        answer.outputTokens,
        answer.costUsd,
        answer.engineVersion,
      ),
    stored
      .prepare(
        `insert into attribution_jobs (trace_key, organization_key, project_key, status, requests, requested_at, attempts,
         attribution_number, error_type)
       select key, organization_key, project_key, 'done', 1, 0, 1, 1, ?2 from traces where id = ?1
       on conflict do update set attribution_number = attribution_number + 1, error_type = ?2`,
      )
      .bind(traceId, answer.errorType),
  ])
  return id
}
