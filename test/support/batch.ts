import type { Env } from '../../src/env.ts'
import type { Answer, Org } from './org.ts'

/** An event in a batch. */
export const event = (type: 'trace' | 'span' | 'observation' | 'feedback', body: unknown) => ({ type, body })

/** Sends a batch. */
export const sendBatch = (org: Org, events: readonly unknown[], bindings?: Env): Promise<Answer> =>
  org.bearer(bindings).post('/api/v1/batch', { events })

/** Sends a batch that must get a response, and returns its results. */
export async function resultsOf(
  org: Org,
  events: readonly unknown[],
  bindings?: Env,
): Promise<{ status: number; body: Record<string, unknown> }[]> {
  const answer = await sendBatch(org, events, bindings)
  if (answer.status !== 207) throw new Error(`unexpected status ${answer.status}: ${answer.body.error}`)
  return answer.body.results
}

/** Sends a batch, and returns the statuses of its results. */
export const statusesOf = async (org: Org, events: readonly unknown[], bindings?: Env): Promise<number[]> =>
  (await resultsOf(org, events, bindings)).map(({ status }) => status)
