import { MAX_REPORTED } from '../limits.ts'

/** Where a record is in the imported files. */
export interface Place {
  file: string
  /** The line where it begins, from 1. */
  line: number
}

/** Something that has no equivalent in the service. */
export interface Unplaced {
  /** The kind of record and its field: `observation.toolCalls`. For a whole record, only its kind. */
  path: string
  /** What became of it, if it wasn't simply left out. */
  note: string | null
  count: number
  /** The id of an affected record. */
  example: string
}

/** A record that wasn't imported. */
export interface ImportFault extends Place {
  /** The record's id, if it has one. */
  id: string | null
  message: string
}

/** What an import did, or would do. */
export interface ImportReport {
  source: string
  /** Whether nothing was sent. */
  isDryRun: boolean
  /** Records that were read. */
  records: number
  /** What was sent, by kind. */
  sent: Record<SentKind, number>
  /** How many decisions were added, and how many were there already. */
  reviews: { added: number; unchanged: number }
  unplaced: Unplaced[]
  warnings: { message: string; count: number }[]
  errors: ImportFault[]
  /** How many errors there were. `errors` has the first ones. */
  errorCount: number
}

export type SentKind = 'traces' | 'spans' | 'observations' | 'feedback' | 'reviews'

/** Collects what an import does. The report's size is bounded, however long the import is. */
export class Report {
  records = 0
  readonly sent: Record<SentKind, number> = { traces: 0, spans: 0, observations: 0, feedback: 0, reviews: 0 }
  readonly reviews = { added: 0, unchanged: 0 }
  readonly #unplaced = new Map<string, Unplaced>()
  readonly #warnings = new Map<string, number>()
  readonly #errors: ImportFault[] = []
  #errorCount = 0

  unplaced(path: string, example: string, note: string | null = null): void {
    const key = `${path}\n${note}`
    const known = this.#unplaced.get(key)
    if (known) known.count++
    else if (this.#unplaced.size < MAX_REPORTED) this.#unplaced.set(key, { path, note, count: 1, example })
    else this.#more('unplaced fields')
  }

  warn(message: string): void {
    if (this.#warnings.has(message) || this.#warnings.size < MAX_REPORTED)
      this.#warnings.set(message, (this.#warnings.get(message) ?? 0) + 1)
    else this.#more('warnings')
  }

  fail(fault: ImportFault): void {
    this.#errorCount++
    if (this.#errors.length < MAX_REPORTED) this.#errors.push(fault)
  }

  /** Counts what a full list leaves out. */
  #more(what: string): void {
    const message = `More ${what} than this report can list`
    this.#warnings.set(message, (this.#warnings.get(message) ?? 0) + 1)
  }

  finished(source: string, isDryRun: boolean): ImportReport {
    const { records, sent, reviews } = this
    return {
      source,
      isDryRun,
      records,
      sent,
      reviews,
      unplaced: [...this.#unplaced.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
      warnings: Array.from(this.#warnings, ([message, count]) => ({ message, count })),
      errors: this.#errors,
      errorCount: this.#errorCount,
    }
  }
}
