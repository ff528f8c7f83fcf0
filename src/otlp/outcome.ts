import { counted } from '../domain/counted.ts'
import { MAX_ERROR_DETAILS } from '../limits.ts'
import type { PartialSuccess } from './encode.ts'

/** Collects what an export rejects or changes, to report it to the sender. */
export class Outcome {
  /** How many records were rejected, by reason. */
  readonly #rejected = new Map<string, number>()
  readonly #warnings = new Set<string>()

  rejectAll(rejected: ReadonlyMap<string, number>): void {
    for (const [reason, count] of rejected) this.reject(reason, count)
  }

  reject(reason: string, count: number): void {
    this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + count)
  }

  /** Adds warnings about records that were accepted with changes. */
  warn(...warnings: readonly string[]): void {
    for (const warning of warnings) this.#warnings.add(warning)
  }

  /** The response for the sender, or undefined if everything was accepted unchanged. */
  get partialSuccess(): PartialSuccess | undefined {
    const counts = [...this.#rejected]
    const shown = [...this.#warnings].slice(0, MAX_ERROR_DETAILS)
    const more = this.#warnings.size - shown.length
    if (counts.length === 0 && this.#warnings.size === 0) return undefined
    return {
      count: counts.reduce((sum, [, count]) => sum + count, 0),
      message: [
        ...counts.map(([reason, count]) => `${count} rejected: ${reason}`),
        ...shown,
        ...(more > 0 ? [`and ${counted(more, 'more warning')}`] : []),
      ].join('; '),
    }
  }
}
