import { CountersignError } from './errors.ts'
import { traceUuid } from './ids.ts'
import { parametersOf, projectOf, type Selector } from './parameters.ts'
import type { Service } from './service.ts'
import type { SpanDetail, TraceDetail, TraceFilters, TraceItem } from './wire.ts'

/** What a list of traces is filtered by. */
export interface TraceListOptions extends Omit<TraceFilters, 'from' | 'to' | 'hasFeedback'> {
  /** From this time on. */
  from?: Date | string | undefined
  /** Before this time. */
  to?: Date | string | undefined
  hasFeedback?: boolean | undefined
  /** By dotted path: `{ 'customer.tier': 'gold' }`. */
  metadata?: Readonly<Record<string, string | number | boolean>> | undefined
  /** Traces that one request reads, from 1 to 200; the list goes on whatever it is. */
  pageSize?: number | undefined
}

/** `full` values, or a `preview`, which cuts what is long. */
export interface ReadOptions {
  payloads?: 'full' | 'preview' | undefined
}

interface Page {
  traces: TraceItem[]
  nextCursor: string | null
}

/** Reads traces. Throws a `CountersignError` where there is no answer. */
export class Traces {
  readonly #service: Service
  readonly #project: Selector

  /** @internal */
  constructor(service: Service, project: Selector) {
    this.#service = service
    this.#project = project
  }

  /** The project's traces, newest first, read page by page as they are taken: `for await (const trace of traces.list())`. */
  async *list({ metadata, pageSize, ...filters }: TraceListOptions = {}): AsyncGenerator<TraceItem, void, undefined> {
    const fields = Object.entries({ ...metadata }).map(([path, value]) => [`metadata.${path}`, value] as const)
    const parameters = { ...projectOf(this.#project), ...filters, limit: pageSize, ...Object.fromEntries(fields) }
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const { body } = await this.#service.read<Page>(
        `/api/traces?${parametersOf({ ...parameters, cursor })}`,
        'traces',
      )
      yield* body.traces
      cursor = body.nextCursor
    }
  }

  /** A trace with its spans and feedback, by its UUID, or by its `trace_id` where the client knows the `projectId`. */
  async get(id: string, { payloads }: ReadOptions = {}): Promise<TraceDetail> {
    const uuid = id.startsWith('trace_') ? await this.#uuidOf(id) : id
    const path = `/api/traces/${encodeURIComponent(uuid)}?${parametersOf({ payloads })}`
    return (await this.#service.read<TraceDetail>(path, 'id')).body
  }

  #uuidOf(traceId: string): Promise<string> {
    const { projectId } = this.#project
    if (projectId !== undefined) return traceUuid(projectId, traceId)
    const message = 'Reading by trace_id needs the option projectId, from which the UUID is made'
    throw new CountersignError(0, 'project_id_missing', message)
  }
}

/** Reads spans. Throws a `CountersignError` where there is no answer. */
export class Spans {
  readonly #service: Service

  /** @internal */
  constructor(service: Service) {
    this.#service = service
  }

  /** One span in full, by its id. */
  async get(id: string): Promise<SpanDetail> {
    return (await this.#service.read<SpanDetail>(`/api/spans/${encodeURIComponent(id)}`, 'id')).body
  }
}
