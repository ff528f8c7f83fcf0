import type { Json, JsonObject } from '../../domain/json.ts'
import type { TelemetryEvent, TelemetrySpan } from './telemetry.ts'

/** What a span does. `generic` is none of an AI pipeline's steps: an HTTP call, a database query. */
export const KINDS = [
  'llm',
  'embedding',
  'retriever',
  'reranker',
  'tool',
  'agent',
  'chain',
  'workflow',
  'task',
  'prompt',
  'guardrail',
  'evaluator',
  'generic',
] as const
export type Kind = (typeof KINDS)[number]

/** Tokens and what they cost, as far as a span says. */
export interface Usage {
  input_tokens?: number
  output_tokens?: number
  total_tokens?: number
  cache_read_tokens?: number
  cache_write_tokens?: number
  reasoning_tokens?: number
}

/** Which prompt a span used: the id of one of our versions, or its name and its number or label. */
export interface PromptReference {
  id?: string
  name?: string
  version?: string | number
}

/** A person's judgment that came as a part of a span. */
export interface HumanJudgment {
  /** Whether the trace was judged, and not the span. */
  isOfTrace?: boolean
  /** What was judged: relevance, correctness. */
  name: string
  /** Who judged, in the sender's words. */
  identifier: string
  rating?: 'positive' | 'negative' | number
  comment?: string
}

/** What a span says of its whole trace. */
export interface TraceReading {
  /** The trace's name for good; what only a root may say is `rootName`. */
  name?: string
  rootName?: string
  groupId?: string
  userId?: string
  tags?: string[]
  environment?: string
  release?: string
  /** Flat, to be searched by. */
  metadata?: JsonObject
  input?: Json
  output?: Json
  /** Whether this span ends the trace although it has a parent. */
  isRoot?: boolean
}

/** What a convention says of a span; of what is absent it says nothing. */
export interface Reading {
  kind?: Kind
  stepId?: string
  input?: Json
  output?: Json
  /** By state key: `retrieved_chunks`, `reranked_chunks`, `config`, `context`. */
  state?: Record<string, Json>
  model?: string
  provider?: string
  usage?: Usage
  cost?: JsonObject
  finishReasons?: string[]
  prompt?: PromptReference
  /** Judgments of models and code; a person's are `feedback`. */
  evaluations?: JsonObject[]
  feedback?: HumanJudgment[]
  trace?: TraceReading
  /** What the convention says beyond that, for the span's metadata. */
  metadata?: JsonObject
  /** What to take where no convention has said it better: a raw request, a wrapper's arguments. */
  fallback?: { kind?: Kind; stepId?: string; input?: Json; output?: Json }
  /** Whether the record only tells that a span has begun: it is not to be stored. */
  isPending?: boolean
}

/** How spans of one kind of instrumentation are read. */
export interface Convention {
  readonly name: string
  /** Undefined where the span is none of its. */
  read(span: SpanReader): Reading | undefined
}

/** A span whose attributes and events remember whether they were read: what nobody read is kept as it is. */
export class SpanReader {
  readonly span: TelemetrySpan
  readonly #read = new Set<string>()
  readonly #readEvents = new Set<TelemetryEvent>()
  /** The keys by their first words, of which a span has two or three: most prefixes that are asked for are of none of them. */
  readonly #keys = new Map<string, string[]>()

  constructor(span: TelemetrySpan) {
    this.span = span
    let word: string | undefined
    let keys: string[] = []
    for (const key of span.attributes.keys()) {
      // Keys of one beginning mostly come together, and a word that is cut out of its key is garbage at once.
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

  /** Whether any key begins with one of these words: `llm` for `llm.model_name`. */
  speaksOf(...words: string[]): boolean {
    return words.some(word => this.#keys.has(word))
  }

  has(key: string): boolean {
    return this.span.attributes.has(key)
  }

  /** An attribute's value, read; undefined where it is absent or null. */
  get(key: string): Json | undefined {
    const value = this.span.attributes.get(key)
    if (value === undefined) return undefined
    this.#read.add(key)
    return value ?? undefined
  }

  /** An attribute's value, which is still kept as it is: it says more than is taken of it. */
  peek(key: string): Json | undefined {
    return this.span.attributes.get(key) ?? undefined
  }

  /** The first of these that is there; the others are not read. */
  first(...keys: string[]): Json | undefined {
    let first: Json | undefined
    for (const key of keys) first ??= this.get(key)
    return first
  }

  /** The attributes that begin so, all read, by the rest of their keys. The prefix ends with a dot. */
  below(prefix: string): Map<string, Json> {
    const found = new Map<string, Json>()
    for (const key of this.#keys.get(firstWord(prefix)) ?? []) {
      if (!key.startsWith(prefix)) continue
      const value = this.get(key)
      if (value !== undefined) found.set(key.slice(prefix.length), value)
    }
    return found
  }

  /** Whether any attribute begins so. The prefix ends with a dot. */
  hasBelow(prefix: string): boolean {
    const keys = this.#keys.get(firstWord(prefix))
    return keys?.some(key => key.startsWith(prefix)) ?? false
  }

  /** The events of a name, all read. */
  events(name: string): TelemetryEvent[] {
    if (this.span.events.length === 0) return []
    const found = this.span.events.filter(event => event.name === name)
    for (const event of found) this.#readEvents.add(event)
    return found
  }

  /** The attributes that nobody read. */
  unread(): Map<string, Json> {
    const unread = new Map<string, Json>()
    for (const [key, value] of this.span.attributes) if (!this.#read.has(key)) unread.set(key, value)
    return unread
  }

  unreadEvents(): TelemetryEvent[] {
    return this.span.events.filter(event => !this.#readEvents.has(event))
  }
}

/** What a key begins with, up to its first dot. */
export function firstWord(key: string): string {
  const end = key.indexOf('.')
  return end < 0 ? key : key.slice(0, end)
}
