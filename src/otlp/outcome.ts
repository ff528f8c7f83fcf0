import { MAX_ERROR_DETAILS } from '../limits.ts'
import type { Refusal } from './encode.ts'

/** What becomes of an export, told to its sender: nothing is left out in silence. */
export class Outcome {
  /** Records that were refused, by why. */
  readonly #rejected = new Map<string, number>()
  readonly #warnings = new Set<string>()

  rejectAll(rejected: ReadonlyMap<string, number>): void {
    for (const [reason, count] of rejected) this.reject(reason, count)
  }

  reject(reason: string, count: number): void {
    this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + count)
  }

  /** Tells of records that were taken, but not as they are. */
  warn(...warnings: readonly string[]): void {
    for (const warning of warnings) this.#warnings.add(warning)
  }

  /** What its sender is told; undefined where all was taken as it is. */
  get refusal(): Refusal | undefined {
    const counts = [...this.#rejected]
    const told = [...this.#warnings].slice(0, MAX_ERROR_DETAILS)
    const more = this.#warnings.size - told.length
    if (counts.length === 0 && this.#warnings.size === 0) return undefined
    return {
      count: counts.reduce((sum, [, count]) => sum + count, 0),
      message: [
        ...counts.map(([reason, count]) => `${count} refused: ${reason}`),
        ...told,
        ...(more > 0 ? [`and ${more} more of the kind`] : []),
      ].join('; '),
    }
  }
}
