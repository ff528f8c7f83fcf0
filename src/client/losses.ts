import type { Loss } from './loss.ts'
import { safely } from './safely.ts'

/** Counts losses and reports them to the caller. Ignores errors from the caller's callback. */
export class Losses {
  count = 0
  readonly #onLoss: (loss: Loss) => unknown

  constructor(onLoss: ((loss: Loss) => unknown) | undefined) {
    this.#onLoss = onLoss ?? (loss => this.#warnOnce(loss))
  }

  add(loss: Loss): void {
    this.count++
    safely(() => this.#onLoss(loss))
  }

  #warnOnce({ type, traceId, field, reason, message }: Loss): void {
    if (this.count > 1) return
    const what = `${field ? `the ${field} of ` : ''}a ${type} of ${traceId}`
    console.warn(
      `countersign: lost ${what} (${reason}: ${message}); this warning is logged once; onLoss receives every loss`,
    )
  }
}
