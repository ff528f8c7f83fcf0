import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import type { Client } from './client.ts'
import type { BatchEvent } from './events.ts'

/** The start time of the newest sample trace. */
export const NEWEST = Date.parse('2026-11-20T10:00:00.000Z')
/** The time between the starts of consecutive traces. */
export const APART_MS = 60_000
/** Traces per conversation. */
const GROUP = 5

/** The prompt versions that the sample traces' answers used; nearly all used `common`. */
export interface PromptVersions {
  common: string
  rare: string
}

/**
 * A pipeline's traces, newest first, each with a retrieval span, an answer span, an input, and an output. Filters match
 * at various rates: all traces have an `environment`, a quarter are in `tier` gold, one in 10 has feedback, one in 20
 * has a negative rating, and one in 50 is running. Three in 1,000 have the name `refund`, the step `escalate`, the rare
 * prompt version, and the metadata field `experiment`.
 */
export function* sampleTraces(count: number, versions: PromptVersions): Generator<BatchEvent> {
  for (let index = 0; index < count; index++) {
    const trace_id = `trace_${index}`
    const isRare = index % 333 === 332
    const timestamp = new Date(NEWEST - index * APART_MS).toISOString()
    const isRunning = index % 50 === 49
    yield {
      type: 'trace',
      body: {
        trace_id,
        name: isRare ? 'refund' : 'support-answer',
        timestamp,
        status: isRunning ? 'running' : 'completed',
        ...(!isRunning && { duration_ms: 1200 + (index % 700) }),
        metadata: {
          group_id: groupOf(index),
          environment: 'production',
          customer: { tier: index % 4 === 0 ? 'gold' : 'free', seats: index % 17 },
          ...(isRare && { experiment: 'b' }),
        },
      },
    }
    const span = (step_id: string, fields: object): BatchEvent => ({
      type: 'span',
      body: { trace_id, span_id: randomUUID(), step_id, timestamp, status: 'ok', duration_ms: 400, ...fields },
    })
    const question = { question: `How long is the warranty of article ${index}?`, locale: 'en' }
    const answer = { answer: `Article ${index} has a warranty of 24 months from the day of purchase.` }
    yield span('retrieve', { input: question, output: { documents: ['warranty', 'returns', 'shipping'] } })
    yield span('answer', {
      input: question,
      output: answer,
      prompt_version_id: isRare ? versions.rare : versions.common,
    })
    if (isRare) yield span('escalate', { input: question })
    yield { type: 'observation', body: { trace_id, type: 'input', data: question, timestamp } }
    yield { type: 'observation', body: { trace_id, type: 'output', data: answer, timestamp } }
    if (index % 10 === 0) {
      const rating = index % 20 === 0 ? 'negative' : 'positive'
      yield { type: 'feedback', body: { trace_id, rating, comment: 'Checked by a person', timestamp } }
    }
  }
}

/** A sample trace's conversation. */
export const groupOf = (index: number): string => `session-${Math.floor(index / GROUP)}`

const Prompt = v.object({ id: v.string(), versionId: v.string() })
const Version = v.object({ id: v.string() })

/** Creates the prompt that sample traces refer to. */
export async function makePrompt(client: Client): Promise<PromptVersions> {
  const draft = { projectSlug: 'bench', stepId: 'answer', content: 'Answer the question.' }
  const prompt = v.parse(Prompt, JSON.parse((await client.call('POST', '/api/prompts', draft)).body))
  const second = { content: 'Answer the question briefly.', activate: false }
  const added = await client.call('POST', `/api/prompts/${prompt.id}/versions`, second)
  return { common: prompt.versionId, rare: v.parse(Version, JSON.parse(added.body)).id }
}
