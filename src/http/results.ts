import * as v from 'valibot'
import { ApiError, errorBody, errorWithin } from './errors.ts'

/** What one part of a batch came to. */
export const BatchResult = v.object({
  status: v.pipe(v.number(), v.metadata({ description: 'The status that the single call would have given' })),
  body: v.looseObject({}),
})

/** The results of a batch, by the places of its parts. */
export class Results {
  readonly #results = new Map<number, v.InferOutput<typeof BatchResult>>()
  readonly #requestId: string

  constructor(requestId: string) {
    this.#requestId = requestId
  }

  /** The value made for a part; none where making it throws an error of the part's own, which is its result then, at `place`. */
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

  /** Notes what a part came to: its reply, or the error that the single call would have answered, at `place`. */
  settle(index: number, place: string, reply: () => { status: number; body: object }): void {
    for (const { status, body } of this.take(index, place, reply)) {
      this.#results.set(index, { status, body: { ...body } })
    }
  }

  inOrder(): v.InferOutput<typeof BatchResult>[] {
    return [...this.#results].sort(([left], [right]) => left - right).map(([, result]) => result)
  }
}
