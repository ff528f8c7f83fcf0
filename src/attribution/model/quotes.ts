import type { Evidence } from '../../domain/attribution.ts'
import { isJsonObject, type Json } from '../../domain/json.ts'
import type { Step, Subject } from '../../domain/subject.ts'
import { withControlTokens } from './control-tokens.ts'

/** Words that a model says stand in the trace. */
export interface Quote {
  spanId: string | null
  path: string
  quote: string
}

/** A part of a subject that can be quoted. */
interface Place {
  spanId: string | null
  path: string
  value: Json
}

/** Looks up what a model quotes from a subject. A place's texts are prepared once, when they are first looked into. */
export class QuoteCheck {
  readonly #ofSpans: ReadonlyMap<string | null, readonly Place[]>
  /** What may be quoted whatever span is named: feedback, knowledge docs, prompts. */
  readonly #outside: readonly Place[]
  readonly #texts = new Map<Place, string>()

  constructor({ steps, feedback, knowledgeDocs }: Subject) {
    const root = steps.find(({ isRoot }) => isRoot)
    this.#ofSpans = new Map<string | null, Place[]>([
      // Of the trace as a whole: what its root has.
      [null, root ? placesOf(root) : []],
      ...steps.map(step => [step.spanId, placesOf(step)] as const),
    ])
    this.#outside = [
      ...feedback.map(({ spanId, comment, correction }) => ({
        spanId,
        path: 'feedback',
        value: { comment, correction },
      })),
      ...knowledgeDocs.map(({ slug, title, content }) => ({
        spanId: null,
        path: `knowledgeDocs.${slug}`,
        value: { title, content },
      })),
      ...steps.flatMap(({ spanId, prompt }) => (prompt ? [{ spanId, path: 'prompt', value: { ...prompt } }] : [])),
    ]
  }

  /** Where a quote stands, under the path that was given if it is there; undefined: nowhere that it may come from. */
  find({ spanId, path, quote }: Quote): Evidence | undefined {
    // Of what was escaped in the question, a model copies the escape or the character.
    return this.#find({ spanId, path, quote }) ?? this.#find({ spanId, path, quote: withControlTokens(quote) })
  }

  #find({ spanId, path, quote }: Quote): Evidence | undefined {
    const wanted = normalized(quote)
    if (wanted === '') return undefined
    const places = [...(this.#ofSpans.get(spanId) ?? []), ...this.#outside]
    // The place that was named first: many values stand in an input and in the output made of it.
    const ordered = [...places.filter(place => isAt(path, place)), ...places.filter(place => !isAt(path, place))]
    const found = ordered.find(place => this.#textOf(place).includes(wanted))
    if (!found) return undefined
    const isThere = isAt(path, found) && textOf(valueAt(found, path)).includes(wanted)
    return { spanId: found.spanId, path: isThere ? path : found.path, note: `“${quote.trim()}”` }
  }

  #textOf(place: Place): string {
    const known = this.#texts.get(place)
    if (known !== undefined) return known
    const text = textOf(place.value)
    this.#texts.set(place, text)
    return text
  }
}

function placesOf({ spanId, input, output, state, metadata, review, precedents }: Step): Place[] {
  const approved: Json[] = precedents.map(({ approvedOutput }) => approvedOutput)
  return [
    { spanId, path: 'output', value: output },
    { spanId, path: 'input', value: input },
    { spanId, path: 'state', value: state },
    { spanId, path: 'approvedOutput', value: review?.approvedOutput ?? null },
    { spanId, path: 'review', value: { comment: review?.comment ?? null } },
    { spanId, path: 'metadata', value: metadata },
    { spanId, path: 'precedents', value: approved },
  ]
}

/** Whether a path leads into a place. */
const isAt = (path: string, place: Place): boolean =>
  path.startsWith(place.path) && /^($|[.[])/.test(path.slice(place.path.length))

/** What stands at a path of a place; undefined where nothing does, or the path is none. */
function valueAt({ path: start, value }: Place, path: string): Json | undefined {
  const rest = path.slice(start.length)
  if (!/^(\.[^.[]+|\[\d+\])*$/.test(rest)) return undefined
  let at: Json | undefined = value
  for (const [, field, index] of rest.matchAll(/\.([^.[]+)|\[(\d+)\]/g)) {
    if (Array.isArray(at)) at = at[Number(index)]
    else at = isJsonObject(at) && field !== undefined && Object.hasOwn(at, field) ? at[field] : undefined
  }
  return at
}

/** All that can be quoted of a value: its JSON, and each string as it reads. NUL keeps them apart. */
function textOf(value: Json | undefined): string {
  if (value === undefined) return ''
  return normalized([JSON.stringify(value), ...stringsOf(value)].join('\0'))
}

function stringsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(stringsOf)
}

/** Without white space, which is set anew whenever JSON is written or a text is wrapped. */
const normalized = (text: string): string => text.normalize('NFC').replace(/\s+/g, '')
