import * as v from 'valibot'
import type { Attribution, ErrorType } from '../../domain/attribution.ts'
import type { Subject } from '../../domain/subject.ts'
import { MAX_LISTED_SPANS, MAX_QUOTE_LENGTH, MAX_QUOTES, MAX_REASONING_LENGTH } from '../../limits.ts'
import { QuoteCheck } from './quotes.ts'

const Answer = v.object({
  quotes: v.array(v.object({ span_id: v.nullable(v.string()), path: v.string(), quote: v.string() })),
  reasoning: v.pipe(v.string(), v.trim(), v.nonEmpty()),
  error_type: v.string(),
  confidence: v.number(),
  span_id: v.nullable(v.string()),
  alternatives: v.array(v.object({ error_type: v.string(), confidence: v.number() })),
})

/** A parsed answer, or a clause that says why the answer is invalid without quoting it. */
export type Reading = { attribution: Omit<Attribution, 'engine'> } | { fault: string }

/** Reads a model's answer. Checks everything that the schema requires, because not every provider enforces it. */
export function readAnswer(value: unknown, subject: Subject, types: readonly ErrorType[]): Reading {
  const parsed = v.safeParse(Answer, value)
  if (!parsed.success) return { fault: `${fieldsAtFault(parsed.issues)} match the schema` }
  const answer = parsed.output
  const names = new Set(types.map(({ errorType }) => errorType))
  if (!names.has(answer.error_type)) return { fault: 'error_type is not one of the error types' }
  const spans = new Set(subject.steps.map(({ spanId }) => spanId))
  if (answer.span_id !== null && !spans.has(answer.span_id)) return { fault: "span_id is not one of the trace's spans" }
  const evidence = findQuotes(answer.quotes, subject)
  if (answer.quotes.length > 0 && evidence.length === 0)
    return { fault: 'none of the quotes was found in the material' }
  return {
    attribution: {
      errorType: answer.error_type,
      confidence: clamped(answer.confidence),
      alternatives: nextTwo(answer, names),
      spanId: answer.span_id,
      reasoning: shortened(answer.reasoning, MAX_REASONING_LENGTH),
      evidence,
    },
  }
}

type Answer = v.InferOutput<typeof Answer>

function findQuotes(quotes: Answer['quotes'], subject: Subject) {
  const check = new QuoteCheck(subject)
  return quotes.slice(0, MAX_QUOTES).flatMap(({ span_id, path, quote }) => {
    return check.find({ spanId: span_id, path, quote: shortened(quote, MAX_QUOTE_LENGTH) }) ?? []
  })
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

/**
 * The subject and verb of a fault, such as `confidence, quotes don't`. Names only the schema's fields and never
 * contains text from the answer.
 */
function fieldsAtFault(issues: readonly v.InferIssue<typeof Answer>[]): string {
  const known = Object.keys(Answer.entries)
  const fields = new Set(issues.map(issue => String(issue.path?.[0]?.key)).filter(field => known.includes(field)))
  return fields.size === 0
    ? "the answer doesn't"
    : `${[...fields].join(', ')} ${fields.size === 1 ? "doesn't" : "don't"}`
}

/**
 * The JSON schema for a model's answer. The model writes the fields in this order, so evidence comes before
 * conclusions. The schema is outside the fence, so it contains nothing from the trace but span ids, which are UUIDs.
 */
export function answerSchema(types: readonly ErrorType[], subject: Subject) {
  const errorType = { type: 'string' as const, enum: types.map(type => type.errorType) }
  const spans = subject.steps.map(({ spanId }) => spanId)
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
