import type { Env } from '../env.ts'
import { DAY_MS, MODEL_DAILY_LIMIT } from '../limits.ts'
import { reserveModelCall } from '../store/accounts/model-calls.ts'
import type { Store } from '../store/core/store.ts'

/** The project has used up its model calls for the day. Jobs wait instead of failing. */
export class ModelLimitError extends Error {
  /** The end of the day, in milliseconds since 1970. */
  readonly until: number

  constructor(until: number) {
    super("The project has used up today's model calls")
    this.name = 'ModelLimitError'
    this.until = until
  }
}

/**
 * Counts a project's model call, whatever its purpose. Call this before each model call.
 *
 * @throws {ModelLimitError} If the project has used up its calls for the day.
 */
export async function reserveCall(env: Env, store: Store, projectKey: number): Promise<void> {
  const now = Date.now()
  if (await reserveModelCall(store, projectKey, { now, limit: dailyLimit(env) })) return
  throw new ModelLimitError((Math.floor(now / DAY_MS) + 1) * DAY_MS)
}

/** The daily limit on model calls. An invalid setting must neither stop all calls nor allow an unlimited number. */
export function dailyLimit({ MODEL_DAILY_LIMIT: configured }: Env): number {
  const calls = Math.floor(Number(configured))
  return calls >= 1 && Number.isFinite(calls) ? calls : MODEL_DAILY_LIMIT
}
