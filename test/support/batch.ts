import type { Env } from '../../src/env.ts'
import type { ApiResponse, Org } from './org.ts'

/** An event in a batch. */
export const event = (type: 'trace' | 'span' | 'observation' | 'feedback', body: unknown) => ({ type, body })

/** Sends a batch. */
export const sendBatch = (org: Org, events: readonly unknown[], bindings?: Env): Promise<ApiResponse> =>
  org.bearer(bindings).post('/api/v1/batch', { events })

/** Sends a batch, and returns its results. Throws if the whole batch is rejected. */
export async function resultsOf(
  org: Org,
  events: readonly unknown[],
  bindings?: Env,
): Promise<{ status: number; body: Record<string, unknown> }[]> {
  const response = await sendBatch(org, events, bindings)
  if (response.status !== 207) throw new Error(`unexpected status ${response.status}: ${response.body.error}`)
  return response.body.results
}

/** Sends a batch, and returns the statuses of its results. */
export const statusesOf = async (org: Org, events: readonly unknown[], bindings?: Env): Promise<number[]> =>
  (await resultsOf(org, events, bindings)).map(({ status }) => status)
