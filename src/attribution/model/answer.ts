import * as v from 'valibot'
import type { Attribution, ErrorType } from '../../domain/attribution.ts'
import { rootOf, type Subject } from '../../domain/subject.ts'
import type { Work } from '../../domain/turns.ts'
import { MAX_LISTED_SPANS, MAX_QUOTE_LENGTH, MAX_QUOTES, MAX_REASONING_LENGTH } from '../../limits.ts'
import { spanLabels } from './question.ts'
import { findQuotes } from './quotes.ts'

const Answer = v.object({
  quotes: v.array(v.object({ span_id: v.nullable(v.string()), path: v.string(), quote: v.string() })),
  reasoning: v.pipe(v.string(), v.trim(), v.nonEmpty()),
  error_type: v.string(),
  confidence: v.number(),
  span_id: v.nullable(v.string()),
  alternatives: v.array(v.object({ error_type: v.string(), confidence: v.number() })),
})
type Answer = v.InferOutput<typeof Answer>

/** A parsed answer, or a clause that says why the answer is invalid, without quoting it. */
type Reading = { answer: Omit<Attribution, 'engine'> } | { fault: string }

/** Reads a model's answer. Checks everything that the schema requires, because not every provider enforces it. */
export function* readAnswer(value: unknown, subject: Subject, types: readonly ErrorType[]): Work<Reading> {
  const parsed = v.safeParse(Answer, value)
  if (!parsed.success) return { fault: `${fieldsAtFault(parsed.issues)} match the schema` }
  const { error_type, confidence, span_id, reasoning, ...answer } = parsed.output
  const names = new Set(types.map(({ errorType }) => errorType))
  if (!names.has(error_type)) return { fault: 'error_type is not one of the error types' }
  const labels = spanLabels(subject)
  const steps = new Map(subject.steps.map(step => [labels.get(step.spanId), step]))
  const step = span_id === null ? null : steps.get(span_id)
  if (step === undefined) return { fault: "span_id is not one of the trace's spans" }
  const quotes = answer.quotes.slice(0, MAX_QUOTES).map(({ span_id, path, quote }) => ({
    // A quote without a span is a quote from the trace, so look for it in the root's content.
    step: span_id === null ? rootOf(subject) : steps.get(span_id),
    path,
    quote: shortened(quote, MAX_QUOTE_LENGTH),
  }))
  const evidence = yield* findQuotes(quotes, subject)
  if (quotes.length > 0 && evidence.length === 0) return { fault: 'none of the quotes was found in the material' }
  const isPlaced = error_type !== 'unsupported_request' && subject.steps.length > 1
  return {
    answer: {
      errorType: error_type,
      confidence: clamped(confidence),
      alternatives: nextTwo(parsed.output, names),
      spanId: isPlaced ? (step?.spanId ?? null) : null,
      reasoning: shortened(reasoning, MAX_REASONING_LENGTH),
      evidence,
    },
  }
}

/** Truncates a string without leaving a lone surrogate, which the database would change. */
const shortened = (text: string, maxLength: number): string => text.slice(0, maxLength).toWellFormed()

function nextTwo({ error_type, alternatives }: Answer, names: ReadonlySet<string>) {
  const likeliest = new Map<string, number>()
  for (const each of alternatives) {
    if (!names.has(each.error_type) || each.error_type === error_type) continue
    likeliest.set(each.error_type, Math.max(clamped(each.confidence), likeliest.get(each.error_type) ?? 0))
  }
  return [...likeliest]
    .map(([errorType, confidence]) => ({ errorType, confidence }))
    .sort((one, other) => other.confidence - one.confidence)
    .slice(0, 2)
}

const clamped = (confidence: number): number => Math.min(Math.max(confidence, 0), 1)

/** The subject and verb of a fault, such as `confidence, quotes don't`. Names only the schema's fields. */
function fieldsAtFault(issues: readonly v.InferIssue<typeof Answer>[]): string {
  const known = Object.keys(Answer.entries)
  const fields = new Set(issues.map(issue => String(issue.path?.[0]?.key)).filter(field => known.includes(field)))
  if (fields.size === 0) return "the answer doesn't"
  return `${[...fields].join(', ')} ${fields.size === 1 ? "doesn't" : "don't"}`
}

/**
 * The JSON schema of the answer. The model writes the fields in this order, so evidence comes before conclusions. The
 * schema is outside the fence, so it contains nothing from the trace.
 */
export function answerSchema(types: readonly ErrorType[], subject: Subject) {
  const errorType = { type: 'string' as const, enum: types.map(type => type.errorType) }
  const spans = [...spanLabels(subject).values()]
  const spanId = { type: 'string' as const, ...(spans.length <= MAX_LISTED_SPANS && { enum: spans }) }
  const orNull = <Schema>(schema: Schema) => ({ anyOf: [schema, { type: 'null' as const }] })
  const text = { type: 'string' as const }
  const confidence = { type: 'number' as const }
  const list = <Schema>(items: Schema) => ({ type: 'array' as const, items })
  return object({
    quotes: list(object({ span_id: orNull(text), path: text, quote: text })),
    reasoning: text,
    error_type: errorType,
    confidence,
    span_id: orNull(spanId),
    alternatives: list(object({ error_type: errorType, confidence })),
  })
}

/** An object schema with exactly these fields, all required, as providers' strict modes demand. */
const object = <Properties extends object>(properties: Properties) => ({
  type: 'object' as const,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
