import { readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { readUntilWhole, type ShownValue, showValues } from '../traces/payloads.ts'
import { foldSpans } from './fold-spans.ts'
import { spanQueries, toLocatedRows } from './located-rows.ts'
import { inputOf } from './span-detail.ts'

/**
 * A span's input and output. A value that's too large is replaced by a preview. A value that doesn't exist is
 * undefined.
 */
interface SpanValues {
  input: ShownValue | undefined
  output: ShownValue | undefined
}

/** Reads the input and the output of a live trace's span, each in full if it has at most about `maxBytes`. */
export const readSpanValues = (store: Store, spanId: string, maxBytes: number): Promise<SpanValues | undefined> =>
  readUntilWhole(store, async () => {
    const located = toLocatedRows(await readPlain(store.database, spanQueries(store, [spanId], 2 * maxBytes)))
    const [span] = foldSpans(located)
    if (!span) return undefined
    const { inputs, output, messageCount, leftOut } = span
    const shownInputs = await showValues(store, inputs, 'full', maxBytes)
    const shownOutput = await showValues(store, output ? [output] : [], 'full', maxBytes)
    const { traces } = located
    if (!shownInputs || !shownOutput) return { traces, found: undefined }
    const input = inputOf([...shownInputs.values()], messageCount, 'full')
    const isWhole = input.isWhole && !leftOut.includes('input')
    return {
      traces,
      found: {
        input: inputs.length === 0 ? undefined : { ...input, isWhole },
        output: output && shownOutput.get(output),
      },
    }
  })
