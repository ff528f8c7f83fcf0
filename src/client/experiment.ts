import { type ItemScope, itemContext } from './context.ts'
import { CountersignError, describe } from './errors.ts'
import { newUuid } from './ids.ts'
import { CONCURRENCY, EXPERIMENT_REQUEST_MS, MAX_CONCURRENCY, PAGE_ITEMS, REQUEST_MS } from './limits.ts'
import { parametersOf } from './parameters.ts'
import { errorResult, outputResult, type Result, Results } from './results.ts'
import type { ItemCosts } from './run.ts'
import { safely } from './safely.ts'
import type { RequestOptions, Service } from './service.ts'
import { pause } from './timers.ts'
import type { Experiment, ListedItem } from './wire.ts'

/** A candidate, and the items that it's tried on. */
export interface NewExperiment {
  /** The step whose dataset has the items. */
  step: string
  /** The project's slug. Default: the client's. */
  project?: string | undefined
  /** The version of the step's prompt to try. */
  promptVersionId?: string | undefined
  /** Only the items in this split: `test`, `train`, or another. Default: all splits. */
  split?: string | undefined
  /** Only this many items, the same ones each time. Default: all, up to 10,000. */
  sample?: number | undefined
  /** A version of the dataset. Default: the current one. */
  version?: string | undefined
  /** Whether to include items whose output has changed since the review. Default: false. */
  includeStale?: boolean | undefined
  /** What to compare with: `recorded`, or the id of a finished experiment on the same dataset. Default: `recorded`. */
  baseline?: string | undefined
  /** The model that you're trying, for your own records. */
  model?: string | undefined
  name?: string | undefined
  metadata?: object | undefined
  /** A UUID. If an experiment with this id is running, only its pending items are run. Default: a new one. */
  id?: string | undefined
}

/** A new experiment, or the id of an experiment that was interrupted or started elsewhere. */
export type ExperimentOptions = NewExperiment | (Partial<NewExperiment> & { id: string })

/** An item to run. It doesn't have the expected output, so a candidate can't use it by accident. */
export interface ExperimentItem<Input = unknown> {
  id: string
  input: Input
  /** What the step used when it was recorded, by key: `config`, `documents`, ... */
  state: Record<string, unknown>
  metadata: Record<string, unknown>
  split: string
}

/** One run of an item. */
export interface ItemRun {
  /** Aborts when the experiment stops. */
  readonly signal: AbortSignal
  /** Records the run's tokens, cost, and trace. Fields that you leave out stay as they are. */
  record(costs: ItemCosts): void
}

/** An experiment's progress. */
export interface ExperimentProgress {
  id: string
  /** The experiment's page in the app. */
  url: string
  items: number
  /** Items whose results the service has. */
  done: number
  /** Items in this call that have an error instead of an output. */
  errors: number
}

/** How to run an experiment. */
export interface ExperimentSettings {
  /** How many items run at a time, from 1 to 64. Default: 4. */
  concurrency?: number | undefined
  /** Stops the experiment. It keeps its results and can be continued with its id. */
  signal?: AbortSignal | undefined
  /** Called at the start, and whenever the service has more results. */
  onProgress?: ((progress: ExperimentProgress) => unknown) | undefined
  /** Whether traces that the function starts are sent. Default: true. */
  recordTraces?: boolean | undefined
}

/** An experiment's report, and its page in the app. */
export interface ExperimentReport extends Experiment {
  url: string
}

/**
 * Where an experiment runs.
 * @internal
 */
export interface Setting {
  service: Service
  projectSlug: string | undefined
  /** How long results wait to be sent together. */
  intervalMs: number
}

/**
 * Runs an experiment's pending items, and finishes it.
 * @internal
 */
export async function runExperiment<Input>(
  { service, projectSlug, intervalMs }: Setting,
  options: ExperimentOptions,
  candidate: (item: ExperimentItem<Input>, run: ItemRun) => unknown,
  { concurrency = CONCURRENCY, signal, onProgress, recordTraces = true }: ExperimentSettings,
): Promise<ExperimentReport> {
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
    throw new RangeError(`concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`)
  }
  signal?.throwIfAborted()
  const calls = new Calls(service)
  const slug = options.project ?? projectSlug
  const experiment = await calls.open(options, slug)
  const { id, state, items, pending } = experiment
  const url = `${service.baseUrl}/experiments/${id}${slug === undefined ? '' : `?project=${slug}`}`
  if (state === 'finished') return { ...(await calls.report(id)), url }
  if (state !== 'running') throw new CountersignError(409, 'experiment_ended', `The experiment ${id} is ${state}`)

  const stop = new AbortController()
  const stopped = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason))
  })
  const abort = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  const progress = { id, url, items, done: items - pending, errors: 0 }
  const report = () => safely(() => onProgress?.({ ...progress }))
  const results = new Results(service, `${pathOf(id)}/results`, intervalMs, {
    onStored(stored) {
      progress.done += stored.length
      progress.errors += stored.filter(({ isError }) => isError).length
      report()
    },
    onFailure: error => stop.abort(error),
  })
  const list = calls.pendingItems(id)
  const work = async () => {
    for (;;) {
      await results.room()
      if (stop.signal.aborted) return
      const next = await list.next()
      if (next.done || stop.signal.aborted) return
      const result = await runItem(next.value, candidate, stop.signal, scopeOf(id, next.value, recordTraces))
      if (stop.signal.aborted) return
      results.add(result)
    }
  }
  try {
    report()
    await Promise.race([Promise.all(Array.from({ length: concurrency }, work)), stopped])
    await results.flush()
  } catch (error) {
    stop.abort(error)
    // The outputs so far cost time and money, so send them even though the experiment stops.
    const time = pause(REQUEST_MS, { keepsAlive: true })
    await Promise.race([results.flush().catch(() => {}), time.over])
    time.cancel()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
  return { ...(await calls.finish(id)), url }
}

const pathOf = (id: string): string => `/api/experiments/${encodeURIComponent(id)}`

const scopeOf = (experimentId: string, { id }: ListedItem, isRecorded: boolean): ItemScope => ({
  mark: { experiment_id: experimentId, experiment_item_id: id },
  isRecorded,
})

/** Runs an item. Never throws: if the candidate throws, the result is an error. */
async function runItem<Input>(
  { id, input, state, metadata, split, truncated }: ListedItem,
  candidate: (item: ExperimentItem<Input>, run: ItemRun) => unknown,
  signal: AbortSignal,
  scope: ItemScope,
): Promise<Result> {
  const lacking = truncated.filter(field => !/^(output|expected\.|recordedOutput)/.test(field))
  if (lacking.length > 0) return errorResult(id, 0, `Too large to be read in full: ${lacking.join(', ')}`)
  const costs: ItemCosts = {}
  const run: ItemRun = { signal, record: more => void Object.assign(costs, more) }
  const startedAt = Date.now()
  // The clock may have been set back, but the duration must not be negative.
  const durationMs = () => Math.max(0, Date.now() - startedAt)
  const allCosts = () => ({ ...costs, traceId: costs.traceId ?? (scope.isRecorded ? scope.traceId : undefined) })
  try {
    // The caller knows the type of the step's inputs.
    const item = { id, input: input as Input, state, metadata, split }
    const output = await itemContext().run(scope, () => candidate(item, run))
    return outputResult(id, durationMs(), output, allCosts())
  } catch (error) {
    const { name, message } = describe(error)
    return errorResult(id, durationMs(), [name, message].filter(Boolean).join(': '), allCosts())
  }
}

/** Calls to the service about experiments. */
class Calls {
  readonly #service: Service

  constructor(service: Service) {
    this.#service = service
  }

  /** The experiment with the id in the options, or else a new one. */
  async open(options: ExperimentOptions, projectSlug: string | undefined): Promise<Opened> {
    const { step, project: _, id = newUuid(), ...fields } = options
    const known = options.id === undefined ? undefined : await this.#find(id)
    if (known) return checked(known, options)
    if (step === undefined) throw new CountersignError(404, 'not_found', `There is no experiment ${id}`)
    const datasetId = await this.#datasetOf(step, projectSlug)
    // Because of the id, retries of this request return the same experiment.
    const body = JSON.stringify({ ...fields, id, projectSlug, datasetId, runner: 'client' })
    return this.#ask('/api/experiments', 'state', { method: 'POST', body })
  }

  async #find(id: string): Promise<Experiment | undefined> {
    try {
      return await this.report(id)
    } catch (error) {
      if (error instanceof CountersignError && error.status === 404) return undefined
      throw error
    }
  }

  async #datasetOf(step: string, projectSlug: string | undefined): Promise<string> {
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const path = `/api/datasets?${parametersOf({ projectSlug, limit: PAGE_ITEMS, cursor })}`
      const page: DatasetPage = await this.#ask(path, 'datasets')
      const dataset = page.datasets.find(({ stepId }) => stepId === step)
      if (dataset) return dataset.id
      cursor = page.nextCursor
    }
    throw new CountersignError(
      404,
      'dataset_not_found',
      `The step ${step} has no dataset: none of its outputs have been reviewed`,
    )
  }

  /** The items without a result, read page by page. */
  async *pendingItems(id: string): AsyncGenerator<ListedItem, void, undefined> {
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const path = `${pathOf(id)}/items?${parametersOf({ pending: true, limit: PAGE_ITEMS, cursor })}`
      const page: ItemPage = await this.#ask(path, 'items')
      yield* page.items
      cursor = page.nextCursor
    }
  }

  report(id: string): Promise<Experiment> {
    return this.#ask(pathOf(id), 'counts')
  }

  /** Finishes an experiment, unless it has already finished because every item has an output. */
  async finish(id: string): Promise<Experiment> {
    const report = await this.report(id)
    if (report.state !== 'running') return report
    await this.#ask<Opened>(`${pathOf(id)}/finish`, 'state', { method: 'POST' })
    return this.report(id)
  }

  async #ask<Body extends object>(
    path: string,
    field: keyof Body & string,
    request: RequestOptions = {},
  ): Promise<Body> {
    return (await this.#service.read<Body>(path, field, { ...request, timeoutMs: EXPERIMENT_REQUEST_MS })).body
  }
}

type Opened = Pick<Experiment, 'id' | 'state' | 'items' | 'pending'>

interface DatasetPage {
  datasets: { id: string; stepId: string }[]
  nextCursor: string | null
}

interface ItemPage {
  items: ListedItem[]
  nextCursor: string | null
}

/** Returns an existing experiment. Throws if the options don't match it. */
function checked(known: Experiment, options: ExperimentOptions): Experiment {
  const { step: stepId, promptVersionId, split, sample, baseline, includeStale } = options
  for (const [field, value] of Object.entries({ stepId, promptVersionId, split, sample, baseline, includeStale })) {
    if (value !== undefined && value !== Reflect.get(known, field)) {
      throw new CountersignError(409, 'conflict', `The experiment ${known.id} has a different ${field}`)
    }
  }
  return known
}
