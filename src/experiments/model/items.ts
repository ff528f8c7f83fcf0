import { newId } from '../../domain/ids.ts'
import { JobError } from '../../domain/job-error.ts'
import { Results } from '../../http/results.ts'
import {
  MODEL_RUN_CALLS,
  MODEL_RUN_FAILURES,
  MODEL_RUN_PAUSE_MS,
  MODEL_RUN_REJECTIONS,
  MODEL_RUN_TRIES,
} from '../../limits.ts'
import { ask, costOf, type Question, type Usage } from '../../model/ask.ts'
import type { TaskContext } from '../../model/job.ts'
import type { ModelSettings } from '../../model/provider.ts'
import { ProviderError } from '../../model/provider-error.ts'
import type { Store } from '../../store/core/store.ts'
import { type DatasetItem, readItems } from '../../store/datasets/item-values.ts'
import type { ItemHead } from '../../store/datasets/items.ts'
import type { ExperimentRecord } from '../../store/experiments/experiments.ts'
import type { Frame } from '../frame.ts'
import type { SentResult } from '../judge-results.ts'
import { hashResult, storeResults } from '../store-results.ts'
import type { Budget } from './budget.ts'
import { type Asker, boundOf, nanoUsd } from './question.ts'
import { renderPrompt } from './render.ts'

/** The provider asks for a pause. */
export class Paused extends Error {
  readonly ms: number

  constructor({ message, retryAfterSeconds }: ProviderError) {
    super(message)
    this.name = 'Paused'
    this.ms = retryAfterSeconds === undefined ? MODEL_RUN_PAUSE_MS : retryAfterSeconds * 1000
  }
}

interface Parts {
  store: Store
  experiment: ExperimentRecord
  frame: Frame
  /** The prompt's text. */
  content: string
  asker: Asker
  settings: ModelSettings
  /** Null if the model has no known price. */
  budget: Budget | null
  context: TaskContext
  times: Times
}

/** Time limits, which tests shorten. */
export interface Times {
  /** The limit for one call. */
  callMs: number
  /** The first pause before another attempt at an item. */
  retryMs: number
}

type NewResult = Omit<SentResult, 'index' | 'contentHash'>

/** Asks the model about items, a few at a time, and stores each result before it asks about another item. */
export class ItemRun {
  readonly #parts: Parts
  /** Items that have gone unanswered since the provider's last answer. */
  #unanswered: NewResult[] = []
  /** Until this is true, calls are made one by one, so that a provider that rejects everything gets only a few. */
  #isAnswered = false
  /** Whether the model has answered, and how many requests the provider rejected before that. */
  #hasOutput = false
  #rejected = 0
  #stopped: { error: unknown } | undefined
  #reading: Promise<unknown> = Promise.resolve()
  #writing: Promise<unknown> = Promise.resolve()
  #unwritten: NewResult[] = []
  #nextWrite: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Asks about items and stores a result for each. If it has to stop, calls in flight finish first, and their results
   * are stored.
   *
   * @throws {Paused | BudgetUsedUp | ModelLimitError | JobError} Why it stopped.
   */
  async ask(heads: readonly ItemHead[]): Promise<void> {
    const waiting = [...heads]
    const work = async (isOver: () => boolean) => {
      while (!this.#stopped && !isOver()) {
        const head = waiting.shift()
        if (!head) return
        await this.#askOne(head).catch(error => {
          this.#stopped ??= { error }
        })
      }
    }
    await work(() => this.#isAnswered)
    await Promise.all(Array.from({ length: MODEL_RUN_CALLS }, () => work(() => false)))
    if (this.#stopped) throw this.#stopped.error
    await this.#storeUnanswered()
  }

  async #askOne(head: ItemHead): Promise<void> {
    const question = await this.#prepare(head)
    if (question === undefined) return
    if ('fault' in question) return this.#store({ itemId: head.id, output: null, error: question.fault })
    const result = await this.#answerOf(head.id, question)
    if (result === undefined) return
    this.#isAnswered = true
    await this.#storeUnanswered()
    await this.#store(result)
  }

  /**
   * Writes an item's question, or the reason why there is none, for one item at a time. Undefined if the item has been
   * deleted.
   */
  #prepare(head: ItemHead): Promise<Question<string> | { fault: string } | undefined> {
    const { store, frame, content, asker } = this.#parts
    const prepared = this.#reading.then(async () => {
      const { items } = await readItems(store, frame.dataset, [head], 'full')
      const [item] = items
      if (!item) return undefined
      const rendered = renderPrompt(content, valuesOf(item))
      return 'fault' in rendered ? rendered : asker(rendered)
    })
    this.#reading = prepared.catch(() => {})
    return prepared
  }

  /** Asks about an item, several times if the provider doesn't respond. Returns undefined if it never does. */
  async #answerOf(itemId: string, question: Question<string>): Promise<NewResult | undefined> {
    const { settings, context, times } = this.#parts
    const spent: Spent = { usages: [], durationMs: 0 }
    let answered: Pick<NewResult, 'output' | 'error'> | undefined
    for (let tries = 1; !answered; tries++) {
      const calls = this.#calls(question, spent)
      try {
        const limits = { signal: context.signal, callMs: times.callMs }
        answered = { output: (await ask(settings, question, { ...limits, ...calls.hooks })).answer, error: null }
        this.#hasOutput = true
      } catch (error) {
        calls.fail(error)
        context.signal.throwIfAborted()
        if (!(error instanceof JobError)) throw error
        if (error instanceof ProviderError) {
          if (error.status === 429) throw new Paused(error)
          if (isTransient(error) && tries < MODEL_RUN_TRIES) {
            await pause(times.retryMs * 2 ** (tries - 1), context.signal)
            continue
          }
          if (!error.isFinal) return this.#giveUp(error, { itemId, output: null, error: error.message })
          if (!this.#hasOutput && ++this.#rejected >= MODEL_RUN_REJECTIONS) throw error
        }
        answered = { output: null, error: error.message }
      }
    }
    const { inputTokens, outputTokens, costUsd } = costOf(spent.usages, settings.prices)
    const isKnown = spent.usages.length > 0 && inputTokens !== null && outputTokens !== null
    return {
      itemId,
      ...answered,
      durationMs: spent.durationMs,
      usage: isKnown ? { inputTokens, outputTokens } : undefined,
      costUsd: isKnown ? (costUsd ?? undefined) : undefined,
    }
  }

  /** What to do before and after each call: check the lease and the day's limit, reserve budget, and record usage. */
  #calls(question: Question<string>, spent: Spent) {
    const { budget, settings, context } = this.#parts
    const bound = settings.prices === null ? 0 : boundOf(question, settings.prices)
    let isReserved = false
    let calledAt = 0
    const settle = (cost: number | null) => {
      if (isReserved) budget?.settle(bound, cost)
      isReserved = false
    }
    return {
      hooks: {
        reserveCall: async () => {
          await budget?.reserve(bound)
          isReserved = true
          try {
            await context.reserveCall()
            calledAt = Date.now()
          } catch (error) {
            settle(0)
            throw error
          }
        },
        settleCall: (usage: Usage) => {
          spent.usages.push(usage)
          spent.durationMs += Date.now() - calledAt
          const { costUsd } = costOf([usage], settings.prices)
          settle(costUsd === null ? null : nanoUsd(costUsd * 1e6))
        },
      },
      /** A call that the provider rejected costs nothing. A call without a response may have been billed. */
      fail: (error: unknown) => settle(error instanceof ProviderError && error.status !== undefined ? 0 : null),
    }
  }

  /**
   * Notes an item for which the provider didn't respond. Its error is stored once another item is answered, because
   * that shows that the first item is at fault, not the provider.
   */
  #giveUp(error: ProviderError, result: NewResult): undefined {
    this.#unanswered.push(result)
    if (this.#unanswered.length < MODEL_RUN_FAILURES) return undefined
    throw error
  }

  async #storeUnanswered(): Promise<void> {
    const unanswered = this.#unanswered
    this.#unanswered = []
    await Promise.all(unanswered.map(result => this.#store(result)))
  }

  /** Stores a result. Results that arrive during a write are written together. */
  #store(result: NewResult): Promise<void> {
    this.#unwritten.push(result)
    this.#nextWrite ??= this.#writing.then(() => {
      const results = this.#unwritten
      this.#unwritten = []
      this.#nextWrite = undefined
      const written = this.#write(results)
      this.#writing = written.catch(() => {})
      return written
    })
    return this.#nextWrite
  }

  async #write(results: readonly NewResult[]): Promise<void> {
    const { store, experiment } = this.#parts
    const token = newId()
    let left = results
    while (left.length > 0) {
      const sent = await Promise.all(
        left.map(async (result, index) => ({ ...result, index, contentHash: await hashResult(result) })),
      )
      const refusals = new Results('')
      await storeResults(store, experiment, sent, refusals, { token, now: Date.now() })
      // Retry the items whose values didn't fit into memory with the others. Any other rejected item has been deleted.
      left = left.filter((_, index) => refusals.statusOf(index) === 413)
    }
  }
}

/** The usage, cost, and time of the calls about an item. */
interface Spent {
  usages: Usage[]
  durationMs: number
}

const valuesOf = ({ input, state, truncated }: DatasetItem) => ({
  input: input.text,
  state: Object.fromEntries(Object.entries(state).map(([key, { text }]) => [key, text])),
  truncated,
})

/** Whether the same call might succeed soon. */
const isTransient = ({ status }: ProviderError): boolean => status === undefined || status >= 500

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        reject(signal.reason)
      },
      { once: true },
    )
  })
