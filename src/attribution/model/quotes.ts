import type { Evidence } from '../../domain/attribution.ts'
import { isJsonObject, type Json } from '../../domain/json.ts'
import type { Step, Subject } from '../../domain/subject.ts'
import { withControlTokens } from './control-tokens.ts'

/** Text that a model claims to quote from the trace. */
export interface Quote {
  spanId: string | null
  path: string
  quote: string
}

/** A quotable part of a subject. */
interface Place {
  spanId: string | null
  path: string
  value: Json
}

/** Looks up a model's quotes in a subject. Prepares each place's texts once, on first use. */
export class QuoteCheck {
  readonly #placesBySpan: ReadonlyMap<string | null, readonly Place[]>
  /** Places that may be quoted under any span id: feedback, knowledge docs, prompts. */
  readonly #outside: readonly Place[]
  readonly #texts = new Map<Place, string>()

  constructor({ steps, feedback, knowledgeDocs }: Subject) {
    const root = steps.find(({ isRoot }) => isRoot)
    this.#placesBySpan = new Map<string | null, Place[]>([
      // A null span id means the trace, so look in the root's content.
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

  /** Finds a quote, at the given path if possible. Undefined if none of the allowed places contains it. */
  find({ spanId, path, quote }: Quote): Evidence | undefined {
    // A model may copy an escape from the prompt as is or as the character it encodes.
    return this.#find({ spanId, path, quote }) ?? this.#find({ spanId, path, quote: withControlTokens(quote) })
  }

  #find({ spanId, path, quote }: Quote): Evidence | undefined {
    const wanted = normalized(quote)
    if (wanted === '') return undefined
    const places = [...(this.#placesBySpan.get(spanId) ?? []), ...this.#outside]
    // Try the named place first, because many values are both in an input and in the output built from it.
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

/** Whether a path points into a place. */
const isAt = (path: string, place: Place): boolean =>
  path.startsWith(place.path) && /^($|[.[])/.test(path.slice(place.path.length))

/** The value at a path in a place. Undefined if there is none or the path is invalid. */
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

/** All quotable text in a value: its JSON and each string as plain text, separated by NUL. */
function textOf(value: Json | undefined): string {
  if (value === undefined) return ''
  return normalized([JSON.stringify(value), ...stringsOf(value)].join('\0'))
}

function stringsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(stringsOf)
}

/** Removes whitespace, which differs if JSON is reformatted or text is wrapped. */
const normalized = (text: string): string => text.normalize('NFC').replace(/\s+/g, '')
