import * as v from 'valibot'
import { ApiError, errorBody, errorWithin } from './errors.ts'

/** The result of one part of a batch. */
export const BatchResult = v.object({
  status: v.pipe(
    v.number(),
    v.metadata({ description: 'The status that the equivalent non-batch call would have returned' }),
  ),
  body: v.looseObject({}),
})

/** A batch's results, by the index of its parts. */
export class Results {
  readonly #results = new Map<number, v.InferOutput<typeof BatchResult>>()
  readonly #requestId: string

  constructor(requestId: string) {
    this.#requestId = requestId
  }

  /**
   * Returns a list with the value created for a part. If creating it throws an `ApiError`, records the error as the
   * part's result, at `place`, and returns an empty list.
   */
  take<Value>(index: number, place: string, make: () => Value): Value[] {
    try {
      return [make()]
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const body = errorBody(errorWithin(place, error), this.#requestId)
      this.#results.set(index, { status: error.status, body })
      return []
    }
  }

  /**
   * Records a part's result: its reply, or the error that the equivalent non-batch call would have returned, at
   * `place`.
   */
  settle(index: number, place: string, reply: () => { status: number; body: object }): void {
    for (const { status, body } of this.take(index, place, reply)) {
      this.#results.set(index, { status, body: { ...body } })
    }
  }

  /** Whether a part already has its result. */
  has(index: number): boolean {
    return this.#results.has(index)
  }

  /** The status of a part's result, if it already has one. */
  statusOf(index: number): number | undefined {
    return this.#results.get(index)?.status
  }

  inOrder(): v.InferOutput<typeof BatchResult>[] {
    return [...this.#results].sort(([left], [right]) => left - right).map(([, result]) => result)
  }
}
