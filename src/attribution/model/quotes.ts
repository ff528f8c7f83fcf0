import type { Evidence } from '../../domain/attribution.ts'
import { isJsonObject, type Json } from '../../domain/json.ts'
import type { Step, Subject } from '../../domain/subject.ts'
import type { Work } from '../../domain/turns.ts'
import { LENGTH_PER_TURN } from '../../limits.ts'
import { withControlTokens } from '../../model/quoted-text.ts'

/** Text that a model claims to quote. */
interface Quote {
  /** The step that it quotes. Undefined if there is none. */
  step: Step | undefined
  path: string
  quote: string
}

/** A quotable part of a subject. */
interface Place {
  spanId: string | null
  path: string
  value: Json
}

/**
 * Finds quotes in a subject, each at its path if possible. Leaves out a quote that's neither in its step's values nor
 * in the feedback, knowledge docs, or prompts, which may be quoted under any step.
 */
export function* findQuotes(quotes: readonly Quote[], subject: Subject): Work<Evidence[]> {
  const outside = placesOutside(subject)
  const inside = new Map(quotes.map(({ step }) => [step, step ? placesIn(step) : []]))
  const evidence: Evidence[] = []
  const texts = new Map<Place, string>()
  function* firstWith(wanted: string, places: readonly Place[]): Work<Place | undefined> {
    for (const place of places) {
      const text = texts.get(place) ?? textOf(place.value)
      if (text.includes(wanted)) return place
      if (texts.has(place)) continue
      texts.set(place, text)
      if (text.length > LENGTH_PER_TURN / 8) yield
    }
    return undefined
  }
  for (const { step, path, quote } of quotes) {
    const places = [...(inside.get(step) ?? []), ...outside]
    // Try the named place first, because many values are both in an input and in the output built from it.
    const ordered = [...places.filter(place => isAt(path, place)), ...places.filter(place => !isAt(path, place))]
    // A model may copy an escape from the question as is or as the character it encodes.
    for (const each of new Set([quote, withControlTokens(quote)])) {
      const wanted = normalized(each)
      const found = wanted === '' ? undefined : yield* firstWith(wanted, ordered)
      if (!found) continue
      const isThere = isAt(path, found) && textOf(valueAt(found, path)).includes(wanted)
      evidence.push({ spanId: found.spanId, path: isThere ? path : found.path, note: `“${each.trim()}”` })
      break
    }
  }
  return evidence
}

const placesIn = ({ spanId, input, output, state, metadata, review, precedents }: Step): Place[] => [
  { spanId, path: 'output', value: output },
  { spanId, path: 'input', value: input },
  { spanId, path: 'state', value: state },
  { spanId, path: 'approvedOutput', value: review?.approvedOutput ?? null },
  { spanId, path: 'review', value: { comment: review?.comment ?? null } },
  { spanId, path: 'metadata', value: metadata },
  { spanId, path: 'precedents', value: precedents.map(({ approvedOutput }) => approvedOutput) },
]

function placesOutside({ steps, feedback, knowledgeDocs }: Subject): Place[] {
  const prompts = new Map(steps.toReversed().map(({ spanId, prompt }) => [prompt, spanId]))
  return [
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
    ...[...prompts].flatMap(([prompt, spanId]) => (prompt ? [{ spanId, path: 'prompt', value: { ...prompt } }] : [])),
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
const textOf = (value: Json | undefined): string =>
  value === undefined ? '' : normalized([JSON.stringify(value), ...stringsOf(value)].join('\0'))

function stringsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : []
}

/** Removes whitespace, which differs if JSON is reformatted or text is wrapped. */
const normalized = (text: string): string => text.normalize('NFC').replace(/\s+/g, '')
