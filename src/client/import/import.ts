import { MAX_VALUE_BYTES } from '../limits.ts'
import type { Service } from '../service.ts'
import { jsonl } from './jsonl.ts'
import { langfuse } from './langfuse.ts'
import { langsmith } from './langsmith.ts'
import { phoenix } from './phoenix.ts'
import { type ImportFile, recordsOf } from './read.ts'
import { type ImportReport, type Place, Report, type SentKind } from './report.ts'
import { type Item, Sender } from './send.ts'
import { type Converter, SpanIndex, type Target, Users } from './source.ts'
import { encodedSpan } from './telemetry.ts'
import { type Fields, isFields, isoTime } from './values.ts'

/** The sources, each with the instrumentation name under which the service reads its spans. */
const SOURCES = {
  langfuse: { converter: langfuse, scope: 'langfuse-sdk' },
  langsmith: { converter: langsmith, scope: 'langsmith' },
  phoenix: { converter: phoenix, scope: 'openinference' },
  jsonl: { converter: jsonl, scope: '' },
} as const satisfies Record<string, { converter: Converter; scope: string }>

export type ImportSource = keyof typeof SOURCES

export const IMPORT_SOURCES: readonly ImportSource[] = ['langfuse', 'langsmith', 'phoenix', 'jsonl']

export interface ImportOptions {
  source: ImportSource
  files: readonly ImportFile[]
  /** Undefined if the import only reports what it would do. */
  service: Pick<Service, 'attempt'> | undefined
  /** The project that gets the records. */
  projectId: string
  /** Users' emails, by the users' ids or names in the source. */
  users?: ReadonlyMap<string, string>
  /** Whether to keep corrections that violate their step's outputSchema. */
  force?: boolean
  signal?: AbortSignal
  /** Called from time to time. */
  onProgress?: (progress: ImportProgress) => void | Promise<void>
}

interface ImportProgress {
  stage: Stage
  /** Records that were read in this stage. */
  records: number
}

/** How many records are read between two progress reports. */
const RECORDS_PER_PROGRESS = 100

type Stage = 'content' | 'locate' | 'parts' | 'judgments'

/**
 * Imports files into a project. The files are read once for each stage, because a judgment may come before its trace,
 * and a child before its parent. Importing again changes nothing, so you can continue an interrupted import by starting
 * it again. Throws if the service can't be reached or rejects everything; other errors are in the report.
 */
export async function importFiles(options: ImportOptions): Promise<ImportReport> {
  const { source, files, service, signal, onProgress } = options
  const { converter, scope }: { converter: Converter; scope: string } = SOURCES[source]
  const report = new Report()
  const sender = new Sender(service, report, scope)
  const index = new SpanIndex()
  const users = new Users(options.users ?? new Map())

  const stages: Stage[] = ['content', ...(converter.parts ? (['parts'] as const) : []), 'judgments']
  for (const stage of stages) {
    if (stage === 'judgments' && index.isIncomplete) await eachRecord('locate', async () => {})
    await eachRecord(stage, async (record, place) => {
      const target = new RecordTarget(place, {
        report,
        sender,
        index,
        users,
        projectId: options.projectId,
        force: options.force ?? false,
      })
      if (stage === 'content') await converter.content(record, target)
      else if (stage === 'parts') await converter.parts?.(record, target)
      else await converter.judgments(record, target)
    })
    await sender.flush()
  }
  return report.finished(source, service === undefined)

  async function eachRecord(stage: Stage, take: (record: Fields, place: Place) => Promise<void>): Promise<void> {
    let records = 0
    for (const file of files) {
      for await (const read of recordsOf(file)) {
        signal?.throwIfAborted()
        if (++records % RECORDS_PER_PROGRESS === 0) await onProgress?.({ stage, records })
        const place = { file: read.file, line: read.line }
        const isKnown = 'value' in read && isFields(read.value) && converter.knows(read.value)
        if (stage === 'content') {
          report.records++
          if ('error' in read) report.fail({ ...place, id: null, message: read.error })
          else if (!isKnown) report.fail({ ...place, id: idOf(read.value), message: `Not a ${source} record` })
        }
        if (!isKnown || !isFields(read.value)) continue
        if (stage === 'content' || stage === 'locate') converter.locate?.(read.value, index)
        await take(read.value, place)
      }
    }
  }
}

const idOf = (value: unknown): string | null => (isFields(value) && typeof value.id === 'string' ? value.id : null)

interface Shared {
  report: Report
  sender: Sender
  index: SpanIndex
  users: Users
  projectId: string
  force: boolean
}

/** Receives what a converter reads from one record. */
class RecordTarget implements Target {
  readonly projectId: string
  readonly users: Users
  readonly index: SpanIndex
  readonly #place: Place
  readonly #report: Report
  readonly #sender: Sender
  readonly #force: boolean
  #kind = 'record'
  #id = ''

  constructor(place: Place, { report, sender, index, users, projectId, force }: Shared) {
    this.#place = place
    this.#report = report
    this.#sender = sender
    this.#force = force
    this.index = index
    this.users = users
    this.projectId = projectId
  }

  name(kind: string, id: string): void {
    this.#kind = kind
    this.#id = id
  }

  unplaced(field?: string, note?: string): void {
    this.#report.unplaced(field === undefined ? this.#kind : `${this.#kind}.${field}`, this.#id, note)
  }

  fail(message: string): void {
    this.#report.fail({ ...this.#place, id: this.#id, message })
  }

  async span(span: Parameters<Target['span']>[0]): Promise<void> {
    for (const [name, value] of Object.entries(span.attributes)) {
      const isTooLarge = typeof value === 'string' && value.length > MAX_VALUE_BYTES
      if (isTooLarge)
        this.unplaced(name, `larger than ${MAX_VALUE_BYTES / 1024 / 1024} MiB, so the service truncates it`)
    }
    await this.#add('spans', 'spans', JSON.stringify(await encodedSpan(span)))
  }

  async trace(body: Parameters<Target['trace']>[0]): Promise<void> {
    await this.#event('traces', 'trace', body)
  }

  async feedback(body: Parameters<Target['feedback']>[0]): Promise<void> {
    await this.#event('feedback', 'feedback', body)
  }

  async event(type: 'trace' | 'span' | 'observation', body: Fields): Promise<void> {
    const kinds = { trace: 'traces', span: 'spans', observation: 'observations' } as const
    await this.#event(kinds[type], type, body)
  }

  async review({ at, ...review }: Parameters<Target['review']>[0]): Promise<void> {
    const body = { ...review, at: isoTime(at), source: 'import', ...(this.#force && { force: true }) }
    await this.#add('reviews', 'reviews', JSON.stringify(body), review.spanId)
  }

  async #event(kind: SentKind, type: string, body: object): Promise<void> {
    await this.#add('events', kind, JSON.stringify({ type, body }))
  }

  async #add(call: 'spans' | 'events' | 'reviews', kind: SentKind, json: string, key?: string): Promise<void> {
    const item: Item = { ...this.#place, id: this.#id, kind, json, ...(key !== undefined && { key }) }
    await this.#sender.add(call, item)
  }
}
