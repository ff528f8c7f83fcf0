import { describe } from '../../errors.ts'
import type { ExperimentItem, ItemRun } from '../../experiment.ts'
import type { ItemCosts } from '../../run.ts'
import { fieldOf } from '../../service.ts'
import { Failure } from '../failure.ts'
import { linesOf } from '../lines.ts'
import { shownLine } from '../shown-text.ts'
import { type Candidate, ItemError, Program, withinTime } from './program.ts'

/** An output has at most 5 MiB, and JSON may use several characters to encode a single character. */
const MAX_LINE_BYTES = 32 * 1024 ** 2
const MAX_SHOWN = 200
/** How many times in a row the command may exit without a result. */
const MAX_FRUITLESS_STARTS = 3

interface Settings {
  timeoutSeconds: number
  /** Stops the experiment, because no item can be run. */
  fail: (error: unknown) => void
}

interface Answer {
  output: unknown
  costs: ItemCosts
}

interface Waiting {
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * Runs all items with one program that keeps running. The program gets an item per line, and prints a result per line,
 * in any order. If it exits early, the items that have no results yet get errors, and the program is started again. If
 * it exits before its first result, the experiment stops instead.
 */
export class OneForAll {
  readonly #candidate: Candidate
  readonly #settings: Settings
  #program: Program | undefined
  #waiting = new Map<string, Waiting>()
  #hasAnswered = false
  #fruitlessStarts = 0
  /** Items that took too long. Their results may still arrive. */
  readonly #abandoned = new Set<string>()

  constructor(candidate: Candidate, settings: Settings) {
    this.#candidate = candidate
    this.#settings = settings
  }

  /** An item's output. Throws an `ItemError`. */
  async run(item: ExperimentItem, run: ItemRun): Promise<unknown> {
    const answer = new Promise<Answer>((resolve, reject) => this.#waiting.set(item.id, { resolve, reject }))
    // If the experiment stops first, nothing else handles the rejection.
    answer.catch(() => {})
    this.#program ??= this.#start()
    this.#program.child.stdin.write(`${JSON.stringify(item)}\n`)
    try {
      const { output, costs } = await withinTime(answer, this.#settings.timeoutSeconds, run.signal)
      run.record(costs)
      return output
    } finally {
      if (this.#waiting.delete(item.id)) this.#abandoned.add(item.id)
    }
  }

  /** Stops the program. After the last item, the program gets time to exit on its own. */
  async stop(isDone: boolean): Promise<void> {
    await (isDone ? this.#program?.close() : this.#program?.stop())
  }

  #start(): Program {
    const program = new Program(this.#candidate, 'last')
    void this.#follow(program)
    return program
  }

  /** Reads results until the program exits. */
  async #follow(program: Program): Promise<void> {
    let answered = 0
    try {
      for await (const line of linesOf(program.child.stdout, MAX_LINE_BYTES)) {
        if (line.length > 0) {
          this.#settle(line.toString())
          answered++
          this.#hasAnswered = true
        }
      }
      const failure = (await program.ended) ?? 'The command exited with code 0 before it printed a result'
      this.#fruitlessStarts = answered > 0 ? 0 : this.#fruitlessStarts + 1
      // Without this check, a command that can't work would be started for each item. If the command has never worked,
      // the items get no result, so they can still be run once the command is fixed.
      const isHopeless = !this.#hasAnswered || this.#fruitlessStarts >= MAX_FRUITLESS_STARTS
      if (isHopeless && this.#waiting.size > 0) throw new Failure('usage', 'command_failed', failure)
      for (const { reject } of this.#unanswered(program)) reject(new ItemError(failure))
    } catch (error) {
      await program.stop()
      // If the program couldn't be started, that caused all other errors.
      const reason = await program.ended.then(
        () => error,
        startError => startError,
      )
      this.#settings.fail(reason)
      for (const { reject } of this.#unanswered(program)) reject(reason)
    }
  }

  /** Removes and returns the items that a program hasn't answered. The next item starts another program. */
  #unanswered(program: Program): Waiting[] {
    if (this.#program !== program) return []
    this.#program = undefined
    const unanswered = [...this.#waiting.values()]
    this.#waiting = new Map()
    return unanswered
  }

  #settle(line: string): void {
    const result = parsed(line)
    const id = fieldOf(result, 'id')
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined
    if (!waiting) {
      if (typeof id === 'string' && this.#abandoned.delete(id)) return
      throw unexpected(line, typeof id === 'string' ? 'no waiting item has this id' : 'it has no id')
    }
    this.#waiting.delete(String(id))
    const [output, error] = [fieldOf(result, 'output'), fieldOf(result, 'error')]
    if (typeof error === 'string') waiting.reject(new ItemError(error))
    else if (output === undefined) waiting.reject(new ItemError('The result has neither output nor error'))
    else waiting.resolve({ output, costs: costsIn(result) })
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw unexpected(line, describe(error).message)
  }
}

const unexpected = (line: string, reason: string): Failure =>
  new Failure(
    'usage',
    'unexpected_output',
    `The command printed a line that isn't a result: ${shownLine(line, MAX_SHOWN)}`,
    {
      details: [{ path: '', message: reason }],
      hint: 'With --jsonl, stdout is for results: {"id": …, "output": …}. Send everything else to stderr.',
    },
  )

/** The resources that an item used. Fields of other types are left out, because the service would reject them. */
function costsIn(result: unknown): ItemCosts {
  const [usage, costUsd, traceId] = [fieldOf(result, 'usage'), fieldOf(result, 'costUsd'), fieldOf(result, 'traceId')]
  const [inputTokens, outputTokens] = [fieldOf(usage, 'inputTokens'), fieldOf(usage, 'outputTokens')]
  return {
    ...(typeof inputTokens === 'number' &&
      typeof outputTokens === 'number' && { usage: { inputTokens, outputTokens } }),
    ...(typeof costUsd === 'number' && { costUsd }),
    ...(typeof traceId === 'string' && { traceId }),
  }
}
