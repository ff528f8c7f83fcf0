import { logFault } from '../http/errors.ts'

/** How a task keeps its hold on a job. */
export interface Held {
  /** Aborts when another run takes over the job, or when the job is canceled. */
  signal: AbortSignal
  /** Extends the lease. Returns whether it's still held. */
  renew: () => Promise<boolean>
}

/** Runs a task while renewing the lease on its job every `everyMs`. `about` identifies the job in the log. */
export async function whileHeld<Result>(
  extend: () => Promise<boolean>,
  { everyMs, about }: { everyMs: number; about: Readonly<Record<string, string | number>> },
  task: (held: Held) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController()
  const renew = async () => {
    const isHeld = await extend()
    if (!isHeld) lost.abort(new LeaseLost())
    return isHeld
  }
  // If one renewal fails, the next one may succeed in time.
  const tick = () => renew().catch(error => logFault('lease_not_renewed', about, error))
  const timer = setInterval(tick, everyMs)
  try {
    return await task({ signal: lost.signal, renew })
  } finally {
    clearInterval(timer)
  }
}

/** Another run has taken over the job, or somebody has canceled it. */
export class LeaseLost extends Error {
  constructor() {
    super('another run has taken over the job')
    this.name = 'LeaseLost'
  }
}
