import type { FeedbackBody } from '../wire.ts'
import type { ImportedSpan } from './telemetry.ts'
import { type Fields, isEmpty, type Nanoseconds, type Value } from './values.ts'

/** A decision that somebody made elsewhere. */
interface ImportedReview {
  spanId: string
  decision: 'accept' | 'correct'
  approvedOutput?: Value
  comment?: string
  /** The reviewer's email. */
  by: string
  at: Nanoseconds
}

/** The body of a call that records a trace, as the service accepts it. */
interface TraceBody {
  trace_id: string
  name: string
  timestamp: string
  status: string
  metadata?: object
  duration_ms?: number
}

/**
 * Where a converter puts what it reads from a record. Each record has its own target, so errors and lost fields can
 * name the record.
 */
export interface Target {
  /** The id of the project that gets the records. */
  readonly projectId: string
  readonly users: Users
  readonly index: SpanIndex
  /** Identifies the record in the report. */
  name(kind: string, id: string): void
  /** Reports a field that has no equivalent in the service. If `field` is undefined, reports the whole record. */
  unplaced(field?: string, note?: string): void
  /** Reports that the record can't be imported. */
  fail(message: string): void
  span(span: ImportedSpan): Promise<void>
  trace(body: TraceBody): Promise<void>
  feedback(body: FeedbackBody): Promise<void>
  review(review: ImportedReview): Promise<void>
  /** Sends an event that's already in the service's format. */
  event(type: 'trace' | 'span' | 'observation', body: Fields): Promise<void>
}

/** Converts the records of one source. Records may come in any order, so each is read once for each stage. */
export interface Converter {
  /** Whether a record is from this source. */
  knows(record: Fields): boolean
  /** Reads traces, and spans that can be sent as telemetry. */
  content(record: Fields, to: Target): Promise<void>
  /** Reads data that must be sent after its trace. */
  parts?(record: Fields, to: Target): Promise<void>
  /** Reads feedback and decisions. */
  judgments(record: Fields, to: Target): Promise<void>
  /** Notes which spans a judgment needs, or which trace a span belongs to. */
  locate?(record: Fields, index: SpanIndex): void
}

/**
 * The traces of spans whose judgments don't name the trace. Only these spans are kept, so the index's size depends on
 * the number of judgments.
 */
export class SpanIndex {
  readonly #traces = new Map<string, string | undefined>()

  /** Asks for a span's trace. */
  want(spanId: string): void {
    if (!this.#traces.has(spanId)) this.#traces.set(spanId, undefined)
  }

  /** Notes which trace a span belongs to, if the span is wanted. */
  found(spanId: string, traceId: string): void {
    if (this.#traces.has(spanId)) this.#traces.set(spanId, traceId)
  }

  traceOf(spanId: string): string | undefined {
    return this.#traces.get(spanId)
  }

  /** Whether a wanted span hasn't been found yet, for example because it comes before the judgment that wants it. */
  get isIncomplete(): boolean {
    return [...this.#traces.values()].includes(undefined)
  }
}

/** The emails of the source's users. */
export class Users {
  readonly #emails: ReadonlyMap<string, string>

  constructor(emails: ReadonlyMap<string, string>) {
    this.#emails = emails
  }

  /** The email of a user whom the source identifies by an id, a name, or an email. */
  emailOf(...given: readonly (string | undefined)[]): string | undefined {
    for (const name of given) {
      const email = name === undefined ? undefined : this.#emails.get(name)
      if (email !== undefined) return email
    }
    return given.find(name => name !== undefined && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(name))
  }
}

/** A record's fields, and which of them have been read. */
export class Reader {
  readonly #record: Fields
  readonly #read = new Set<string>()

  constructor(record: Fields) {
    this.#record = record
  }

  /** The first of these fields that has a value. Marks all of them as read. */
  take(...names: readonly string[]): Value | undefined {
    for (const name of names) this.#read.add(name)
    return names.map(name => this.#record[name]).find(value => !isEmpty(value))
  }

  /** Marks fields as read that add nothing new: copies, sums, and the source's own bookkeeping. */
  skip(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name)
  }

  /** The fields with a value that haven't been read. */
  get left(): string[] {
    return Object.keys(this.#record).filter(name => !this.#read.has(name) && !isEmpty(this.#record[name]))
  }
}
