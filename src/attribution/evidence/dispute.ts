import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { rootOf, type Step, type Subject, type SubjectFeedback } from '../../domain/subject.ts'
import { canonical, isEqual } from '../text/canonical.ts'
import type { Difference } from './difference.ts'

/** An output that someone objected to. */
interface Objection {
  step: Step
  /** What the output should have been. Undefined if nobody said what it should be. */
  approved: Json | undefined
  /** The feedback's correction, verbatim. */
  correction: JsonObject | null
  userId: string
  /** The objector's comments. */
  comments: string[]
}

/** The dispute that determines the answer. */
export interface MainDispute extends Objection {
  /** Undefined if there is no approved output. */
  difference: Difference | undefined
}

/** A person's confirmation that an output was right. */
export interface Support {
  step: Step
  userId: string
}

/**
 * Finds who confirmed which output, and the strongest objection to an output. A corrected review is the strongest kind
 * of objection, followed by a correction in feedback, an objection without a correction, and a reviewer's remark. If
 * there are several objections of the same kind, the first one is used.
 */
export function findDisputes(subject: Subject): { objection: Objection | undefined; supports: Support[] } {
  const reviewed: Objection[] = []
  const corrected: Objection[] = []
  const disliked: Objection[] = []
  const supports: Support[] = []
  for (const step of subject.steps) {
    const { review } = step
    if (!review) continue
    const { userId } = review
    if (review.state === 'accepted') supports.push({ step, userId })
    else {
      const comments = [...commentsOn(subject, step, userId), ...(review.comment ? [review.comment] : [])]
      reviewed.push({ step, approved: review.approvedOutput, correction: null, userId, comments })
    }
  }
  for (const feedback of subject.feedback) {
    const { userId, correction } = feedback
    const comments = feedback.comment ? [feedback.comment] : []
    if (correction) {
      const step = correctedStepOf(correction, feedback, subject)
      const approved = applyCorrection(step.output, correction)
      if (isEqual(step.output, approved)) supports.push({ step, userId })
      else corrected.push({ step, approved, correction, userId, comments })
    } else if (isPositive(feedback)) supports.push({ step: outputStepOf(feedback, subject), userId })
    else if (feedback.source === 'api') disliked.push(objectionOf(feedback, subject))
  }
  const remark = subject.feedback.find(({ source, comment }) => source === 'review' || comment)
  const objection = reviewed[0] ?? corrected[0] ?? disliked[0] ?? (remark && objectionOf(remark, subject))
  return { objection, supports }
}

/** Builds an objection without a correction. */
const objectionOf = (feedback: SubjectFeedback, subject: Subject): Objection => ({
  step: outputStepOf(feedback, subject),
  approved: undefined,
  correction: null,
  userId: feedback.userId,
  comments: feedback.comment ? [feedback.comment] : [],
})

const isPositive = ({ rating }: SubjectFeedback) =>
  rating === 'positive' || (typeof rating === 'number' && rating >= 0.7)

/** Comments on a step, the same person's comments on the trace, and comments from API feedback. */
const commentsOn = (subject: Subject, step: Step, userId: string): string[] =>
  subject.feedback.flatMap(({ spanId, comment, userId: author, source }) =>
    comment && (spanId === step.spanId || author === userId || source === 'api') ? [comment] : [],
  )

/**
 * The step that feedback is about. If the feedback names no step, or names a root that has no output, it's the last
 * step that has an output.
 */
function outputStepOf({ spanId }: SubjectFeedback, subject: Subject): Step {
  const { steps } = subject
  const named = steps.find(step => step.spanId === spanId)
  const last = steps.findLast(step => step.hasOutput)
  const step = named?.hasOutput || !named?.isRoot ? (named ?? last) : last
  return step ?? named ?? rootOf(subject)
}

/**
 * The step that a correction applies to: the one whose output contains the most of the correction's fields. On a
 * tie, the step that the feedback names wins, then the root, then the last step.
 */
function correctedStepOf(correction: JsonObject, feedback: SubjectFeedback, subject: Subject): Step {
  const named = subject.steps.find(({ spanId }) => spanId === feedback.spanId)
  const fields = Object.keys(correction)
  const open = subject.steps.filter(({ review, hasOutput }) => hasOutput && review?.state !== 'accepted')
  const shares = open.map(step => {
    const own = isJsonObject(step.output) ? fields.filter(field => fieldPathOf(step.output, field)).length : 0
    return { step, own }
  })
  const most = Math.max(0, ...shares.map(({ own }) => own))
  if (most === 0 && named && !named.isRoot) return named
  if (most === 0) return outputStepOf(feedback, subject)
  const candidates = shares.filter(({ own }) => own === most).map(({ step }) => step)
  const preferred = candidates.find(step => step === named) ?? candidates.find(({ isRoot }) => isRoot)
  return preferred ?? candidates.at(-1) ?? rootOf(subject)
}

/**
 * Applies a correction to an output. The correction may contain only some of the output's fields. If the output isn't
 * an object, the correction may contain its corrected value under any field name.
 */
export function applyCorrection(output: Json, correction: JsonObject): Json {
  const fields = Object.entries(correction)
  const [only] = fields
  const sole = fields.length === 1 && only ? only[1] : undefined
  if (!isJsonObject(output)) {
    if (sole === undefined || output === null) return output === null && typeof sole === 'string' ? sole : correction
    if (typeof output === 'string' && Array.isArray(sole)) return sole.map(textOf).join('\n')
    if (Array.isArray(output) && !Array.isArray(sole)) return correction
    return sole
  }
  const known = fields.filter(([field]) => fieldPathOf(output, field))
  if (known.length === 0) {
    // If the output has several fields, add the correction's fields to it. If it has only one, replace it.
    return Object.keys(output).length > 1 ? { ...output, ...correction } : correction
  }
  let corrected: Json = output
  for (const [field, value] of fields) {
    const path = fieldPathOf(output, field) ?? [field]
    corrected = withValue(corrected, path, mergeFields(valueAt(corrected, path), value))
  }
  return corrected
}

/** Merges a nested object in a correction into a value. That object, too, may contain only some of the fields. */
const mergeFields = (value: Json | undefined, correction: Json): Json =>
  isJsonObject(value) && isJsonObject(correction) ? { ...value, ...correction } : correction

const textOf = (value: Json): string => (typeof value === 'string' ? value : canonical(value))

/** The path of the field with this name, at the top level or in a nested object. */
const fieldPathOf = (value: Json, field: string): readonly string[] | undefined =>
  isJsonObject(value) ? fieldPathsOf(value).get(field) : undefined

/** Cached by object, because each correction's fields are looked up in each output. Objects must not be mutated. */
const fieldPaths = new WeakMap<JsonObject, ReadonlyMap<string, readonly string[]>>()

function fieldPathsOf(value: JsonObject): ReadonlyMap<string, readonly string[]> {
  const known = fieldPaths.get(value)
  if (known) return known
  const paths = new Map<string, readonly string[]>(Object.keys(value).map(field => [field, [field]]))
  for (const [name, item] of Object.entries(value)) {
    if (!isJsonObject(item)) continue
    for (const [field, path] of fieldPathsOf(item)) if (!paths.has(field)) paths.set(field, [name, ...path])
  }
  fieldPaths.set(value, paths)
  return paths
}

const valueAt = (value: Json, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((item, field) => (isJsonObject(item) ? item[field] : undefined), value)

function withValue(value: Json, [field, ...rest]: readonly string[], leaf: Json): Json {
  if (field === undefined) return leaf
  const fields = isJsonObject(value) ? value : {}
  return { ...fields, [field]: withValue(fields[field] ?? null, rest, leaf) }
}
