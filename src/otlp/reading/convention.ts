import type { Json, JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import type { TelemetryEvent, TelemetrySpan } from './telemetry.ts'

/** The token counts that the span reports. */
export interface Usage {
  input_tokens?: number
  output_tokens?: number
  total_tokens?: number
  cache_read_tokens?: number
  cache_write_tokens?: number
  reasoning_tokens?: number
}

/** The prompt that a span used: the id of one of our versions, or a name with a version number or label. */
export interface PromptReference {
  id?: string
  name?: string
  version?: string | number
}

/** A person's judgment, sent as part of a span. */
export interface HumanJudgment {
  /** Whether the judgment is about the trace instead of the span. */
  isOfTrace?: boolean
  /** The criterion, such as relevance or correctness. */
  name: string
  /** The judge, in the sender's words. */
  identifier: string
  rating?: 'positive' | 'negative' | number
  comment?: string
}

/** Facts about the trace, read from a span. */
export interface TraceReading {
  /** The trace's name. `rootName` is used only if the span is the root. */
  name?: string
  rootName?: string
  groupId?: string
  userId?: string
  tags?: string[]
  environment?: string
  release?: string
  /** A flat object, so it can be searched. */
  metadata?: JsonObject
  input?: Json
  output?: Json
  /** Whether this span is the trace's root even though it has a parent. */
  isRoot?: boolean
}

/** A convention's reading of a span. Fields without a value are absent. */
export interface Reading {
  kind?: StepKind
  stepId?: string
  input?: Json
  output?: Json
  /** Keyed by state key: `retrieved_chunks`, `reranked_chunks`, `config`, `context`. */
  state?: Record<string, Json>
  model?: string
  provider?: string
  usage?: Usage
  cost?: JsonObject
  finishReasons?: string[]
  prompt?: PromptReference
  /** Judgments by models and code. People's judgments are in `feedback`. */
  evaluations?: JsonObject[]
  feedback?: HumanJudgment[]
  trace?: TraceReading
  /** Anything else, for the span's metadata. */
  metadata?: JsonObject
  /** A raw request, a wrapper's arguments, and the like, used only if no convention has something better. */
  fallback?: { kind?: StepKind; stepId?: string; input?: Json; output?: Json }
  /** Whether the record only reports that the span has started. Such a record isn't stored. */
  isPending?: boolean
}

/** A reader for the spans from one kind of instrumentation. */
export interface Convention {
  readonly name: string
  /** Returns undefined for spans from other instrumentations. */
  read(span: SpanReader): Reading | undefined
}

/** A span that tracks which of its attributes and events were read. The rest is kept verbatim. */
export class SpanReader {
  readonly span: TelemetrySpan
  readonly #read = new Set<string>()
  readonly #readEvents = new Set<TelemetryEvent>()
  /**
   * The keys, grouped by first word. A span's keys have only two or three first words, so most prefix lookups end here.
   */
  readonly #keys = new Map<string, string[]>()

  constructor(span: TelemetrySpan) {
    this.span = span
    let word: string | undefined
    let keys: string[] = []
    for (const key of span.attributes.keys()) {
      // Keys with the same first word are usually adjacent, so a new word rarely has to be extracted.
      if (word === undefined || !key.startsWith(word) || key.charAt(word.length) !== '.') {
        word = firstWord(key)
        keys = this.#keysOf(word)
      }
      keys.push(key)
    }
  }

  #keysOf(word: string): string[] {
    const known = this.#keys.get(word)
    if (known) return known
    const keys: string[] = []
    this.#keys.set(word, keys)
    return keys
  }

  /** Whether any key starts with one of these words: `llm` for `llm.model_name`. */
  speaksOf(...words: string[]): boolean {
    return words.some(word => this.#keys.has(word))
  }

  has(key: string): boolean {
    return this.span.attributes.has(key)
  }

  /** Reads an attribute. Undefined if it is absent or null. */
  get(key: string): Json | undefined {
    const value = this.span.attributes.get(key)
    if (value === undefined) return undefined
    this.#read.add(key)
    return value ?? undefined
  }

  /** Like `get`, but doesn't mark the attribute as read, so it's also kept verbatim. */
  peek(key: string): Json | undefined {
    return this.span.attributes.get(key) ?? undefined
  }

  /** The first of these attributes that is present. The others stay unread. */
  first(...keys: string[]): Json | undefined {
    let first: Json | undefined
    for (const key of keys) first ??= this.get(key)
    return first
  }

  /** Reads all attributes with this prefix, keyed by the rest of their keys. The prefix ends with a dot. */
  below(prefix: string): Map<string, Json> {
    const found = new Map<string, Json>()
    for (const key of this.#keys.get(firstWord(prefix)) ?? []) {
      if (!key.startsWith(prefix)) continue
      const value = this.get(key)
      if (value !== undefined) found.set(key.slice(prefix.length), value)
    }
    return found
  }

  /** Whether any attribute has this prefix. The prefix ends with a dot. */
  hasBelow(prefix: string): boolean {
    const keys = this.#keys.get(firstWord(prefix))
    return keys?.some(key => key.startsWith(prefix)) ?? false
  }

  /** Reads all events with this name. */
  events(name: string): TelemetryEvent[] {
    if (this.span.events.length === 0) return []
    const found = this.span.events.filter(event => event.name === name)
    for (const event of found) this.#readEvents.add(event)
    return found
  }

  /** The attributes that no convention has read. */
  unread(): Map<string, Json> {
    const unread = new Map<string, Json>()
    for (const [key, value] of this.span.attributes) if (!this.#read.has(key)) unread.set(key, value)
    return unread
  }

  unreadEvents(): TelemetryEvent[] {
    return this.span.events.filter(event => !this.#readEvents.has(event))
  }
}

/** The part of a key before its first dot. */
export function firstWord(key: string): string {
  const end = key.indexOf('.')
  return end < 0 ? key : key.slice(0, end)
}
