import type { ExperimentItem, ItemRun } from '../../experiment.ts'
import { MAX_VALUE_BYTES } from '../../limits.ts'
import { type Candidate, ItemError, Program, withinTime } from './program.ts'

/** What a program's stdout contains. */
export type OutputFormat = 'auto' | 'json' | 'text'

interface Settings {
  timeoutSeconds: number
  output: OutputFormat
  /** Whether the program gets the whole item instead of only its input. */
  isWholeItem: boolean
  /** Stops the experiment, because no item can be run. */
  fail: (error: unknown) => void
}

/** Runs a separate program for each item. */
export class OnePerItem {
  readonly #candidate: Candidate
  readonly #settings: Settings
  readonly #running = new Set<Program>()

  constructor(candidate: Candidate, settings: Settings) {
    this.#candidate = candidate
    this.#settings = settings
  }

  /** An item's output. Throws an `ItemError`. */
  async run(item: ExperimentItem, { signal }: ItemRun): Promise<unknown> {
    const { timeoutSeconds, output, isWholeItem, fail } = this.#settings
    const { command, directory, environment } = this.#candidate
    const own = { ...environment, COUNTERSIGN_ITEM_ID: item.id }
    const program = new Program({ command, directory, environment: own }, 'first')
    this.#running.add(program)
    // If the program can't even be started, no other item can be run either.
    program.ended.catch(fail)
    try {
      program.child.stdin.end(JSON.stringify(isWholeItem ? item : item.input))
      const printed = await withinTime(Promise.all([read(program), program.ended]), timeoutSeconds, signal)
      const [bytes, failure] = printed
      if (failure !== undefined) throw new ItemError(failure)
      return outputOf(bytes, output)
    } finally {
      await program.stop()
      this.#running.delete(program)
    }
  }

  /** Stops the programs that are still running. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running].map(program => program.stop()))
  }
}

/** Everything that a program prints. Throws if it's larger than an output may be. */
async function read({ child }: Program): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of child.stdout) {
    bytes += part.length
    if (bytes > MAX_VALUE_BYTES) throw new ItemError(`The command printed more than ${MAX_VALUE_BYTES / 1024 ** 2} MiB`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The output that a program printed. Throws an `ItemError` if it isn't a valid output. */
export function outputOf(bytes: Uint8Array, format: OutputFormat): unknown {
  const text = decoded(bytes)
  if (format === 'text') return withoutNewline(text)
  try {
    return JSON.parse(text)
  } catch {
    if (format === 'json') throw new ItemError("The command didn't print JSON")
  }
  if (text.trim() === '') throw new ItemError('The command printed nothing')
  return withoutNewline(text)
}

/** The text without the newline that most programs end their output with. */
const withoutNewline = (text: string): string => text.replace(/\r?\n$/, '')

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ItemError("The command didn't print UTF-8 text")
  }
}
