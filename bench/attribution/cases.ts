import { readFile } from 'node:fs/promises'
import * as v from 'valibot'
import { ERROR_CATEGORIES } from '../../src/domain/attribution.ts'
import type { Json } from '../../src/domain/json.ts'

const JsonValue = v.custom<Json>(value => value !== undefined)
const JsonFields = v.record(v.string(), JsonValue)

/** A trace with a fault, labeled with its cause. */
const LabeledCase = v.object({
  id: v.string(),
  /** The case's set, which says whether rules were tuned on it: `dev`, `tuned`, `held-out`, or any other name. */
  split: v.string(),
  expected: v.object({
    error_type: v.string(),
    error_type_category: v.picklist(ERROR_CATEGORIES),
    /** The blamed step. Null if there is none, or if the trace as a whole is to blame. */
    span: v.nullable(v.string()),
  }),
  /** An explanation for human readers. */
  why: v.string(),
  prompts: v.array(
    v.object({ stepId: v.string(), content: v.string(), outputSchema: v.optional(v.nullable(JsonFields)) }),
  ),
  knowledgeDocs: v.array(v.object({ slug: v.string(), title: v.string(), content: v.string() })),
  /** Ingestion request bodies. */
  events: v.array(v.object({ type: v.picklist(['trace', 'span', 'observation', 'feedback']), body: JsonFields })),
  /** `step_id` is the span's step ID or, for the root, the trace's name. */
  reviews: v.array(
    v.object({
      step_id: v.string(),
      decision: v.picklist(['accept', 'correct']),
      approved_output: v.optional(JsonValue),
    }),
  ),
})

export type LabeledCase = v.InferOutput<typeof LabeledCase>

/** Reads labeled cases, one JSON object per line. */
export async function readCases(file: string): Promise<LabeledCase[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter(line => line.trim() !== '')
  return lines.map((line, index) => {
    const parsed = v.safeParse(LabeledCase, JSON.parse(line))
    if (parsed.success) return parsed.output
    const [issue] = parsed.issues
    throw new Error(`${file}, line ${index + 1}: ${v.getDotPath(issue) ?? ''} ${issue.message}`)
  })
}
