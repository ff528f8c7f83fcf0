import { parametersOf, projectOf, type Selector } from './parameters.ts'
import type { Service } from './service.ts'
import type { SpanDetail, TraceDetail, TraceFilters, TraceItem } from './wire.ts'

/** The filters of a list of traces. */
export interface TraceListOptions extends Omit<TraceFilters, 'from' | 'to' | 'hasFeedback'> {
  /** Start of the range, inclusive. */
  from?: Date | string | undefined
  /** End of the range, exclusive. */
  to?: Date | string | undefined
  hasFeedback?: boolean | undefined
  /** By dotted path: `{ 'customer.tier': 'gold' }`. */
  metadata?: Readonly<Record<string, string | number | boolean>> | undefined
  /** Traces per request, from 1 to 200. The list always includes all traces. */
  pageSize?: number | undefined
}

/** `full` for complete values, or `preview` for values that are truncated if they're long. */
export interface ReadOptions {
  payloads?: 'full' | 'preview' | undefined
}

/**
 * A trace with one page of its spans and feedback. A page requested with one of the cursors continues only that list.
 */
export interface DetailPage {
  /** Spans per response, from 1 to 20,000. Values are in full if there are at most 2,000 spans. */
  spanLimit?: number | undefined
  spanCursor?: string | undefined
  /** Feedback entries per response, from 1 to 1,000. */
  feedbackLimit?: number | undefined
  feedbackCursor?: string | undefined
}

export interface SpansOptions extends ReadOptions {
  /** Spans per request, from 1 to 2,000. The list always includes all spans. */
  pageSize?: number | undefined
}

/** A span of a trace. */
export type TraceSpan = TraceDetail['spans'][number]

interface Page {
  traces: TraceItem[]
  nextCursor: string | null
}

/** Reads traces. Throws a `CountersignError`. */
export class Traces {
  readonly #service: Service
  readonly #project: Selector

  /** @internal */
  constructor(service: Service, project: Selector) {
    this.#service = service
    this.#project = project
  }

  /** The project's traces, newest first, read page by page: `for await (const trace of traces.list())`. */
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

  /**
   * A trace with its spans and feedback, by its UUID or its `trace_id`. A very large trace has previews of long values,
   * and a `nextSpanCursor` or `nextFeedbackCursor` for the rest; `spansOf` reads all of its spans in full.
   */
  get(id: string, { payloads, ...page }: ReadOptions & DetailPage = {}): Promise<TraceDetail> {
    return this.#read(id, { payloads, ...page })
  }

  /** All spans of a trace, in full unless `payloads` is `preview`, read page by page: the root first, then by time. */
  async *spansOf(
    id: string,
    { payloads, pageSize = 200 }: SpansOptions = {},
  ): AsyncGenerator<TraceSpan, void, undefined> {
    for (let spanCursor: string | undefined | null; spanCursor !== null; ) {
      const page: TraceDetail = await this.#read(id, {
        payloads,
        spanLimit: pageSize,
        spanCursor,
        // The first page also has feedback, which isn't needed here.
        feedbackLimit: 1,
      })
      yield* page.spans
      spanCursor = page.nextSpanCursor
    }
  }

  async #read(id: string, parameters: Parameters<typeof parametersOf>[0]): Promise<TraceDetail> {
    const project = id.startsWith('trace_') ? projectOf(this.#project) : {}
    const path = `/api/traces/${encodeURIComponent(id)}?${parametersOf({ ...project, ...parameters })}`
    return (await this.#service.read<TraceDetail>(path, 'id')).body
  }
}

/** Reads spans. Throws a `CountersignError`. */
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
