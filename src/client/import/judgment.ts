import { MAX_COMMENT_LENGTH, MAX_CORRECTION_BYTES, MAX_NAME_LENGTH } from '../limits.ts'
import type { FeedbackBody } from '../wire.ts'
import { feedbackIdOf, spanUuid, traceIdOf } from './ids.ts'
import type { Target } from './source.ts'
import { isFields, isoTime, type Nanoseconds, type Value } from './values.ts'

/** A score, an annotation, or a correction, under the source's own ids. */
export interface Judgment {
  id: string
  traceId: string
  /** Undefined if the judgment is about the whole trace. */
  spanId: string | undefined
  name: string | undefined
  score: Value | undefined
  /** The score as a word, which a source may have instead of a number. */
  label: string | undefined
  comment: string | undefined
  /** What the output should have been. */
  correction: Value | undefined
  /** The ids, names, and emails that the source has for the person who judged. */
  judges: readonly (string | undefined)[]
  /** Shown as the author if `judges` contains no known user. */
  author: string | undefined
  time: Nanoseconds | undefined
}

/**
 * Imports a judgment. A known user's correction to a span's output is that user's decision on the span; anything else
 * is feedback. `fields` has the source's names for the fields, for the report.
 */
export async function addJudgment(
  to: Target,
  judgment: Judgment,
  fields: { score: string; correction: string; comment: string; name: string },
): Promise<void> {
  const { traceId, spanId, correction, time, label } = judgment
  const email = to.users.emailOf(...judgment.judges)
  const rating = ratingOf(judgment.score)
  const isLost = judgment.score !== undefined && rating === undefined
  if (isLost) to.unplaced(fields.score, 'not from 0 to 1, so it became part of the comment')
  else if (label !== undefined && rating === undefined)
    to.unplaced(fields.score, 'a word, so it became part of the comment')
  const score = isLost ? scoreText(judgment.score) : undefined
  const said = [...new Set([label ?? score, judgment.comment])].filter(part => part !== undefined).join(': ')
  const comment = cut(said, MAX_COMMENT_LENGTH, () =>
    to.unplaced(fields.comment, `truncated to ${MAX_COMMENT_LENGTH} characters`),
  )
  const target = spanId === undefined ? undefined : await spanUuid(to.projectId, traceId, spanId)
  const isDecision = correction !== undefined && target !== undefined && email !== undefined && time !== undefined
  if (isDecision) {
    await to.review({
      spanId: target,
      decision: 'correct',
      approvedOutput: correction,
      ...(comment !== '' && { comment }),
      by: email,
      at: time,
    })
    // The decision already has everything else in the judgment.
    if (rating === undefined) return
  }
  const body: FeedbackBody = {
    trace_id: await traceIdOf(traceId),
    feedback_id: await feedbackIdOf(judgment.id),
    span_id: target,
    name: judgment.name === undefined ? undefined : shortName(to, judgment.name, fields.name),
    rating,
    comment: comment === '' || isDecision ? undefined : comment,
    correction: isDecision ? undefined : correctionOf(to, correction, fields.correction),
    labeller:
      email !== undefined ? { email } : judgment.author === undefined ? undefined : { name: short(judgment.author) },
    timestamp: time === undefined ? undefined : isoTime(time),
    source: 'import',
  }
  await to.feedback(body)
}

/** The rating that a score corresponds to: a number from 0 to 1, or a boolean. Undefined for any other score. */
function ratingOf(score: Value | undefined): FeedbackBody['rating'] {
  if (typeof score === 'boolean') return score ? 'positive' : 'negative'
  return typeof score === 'number' && score >= 0 && score <= 1 ? score : undefined
}

const scoreText = (score: Value | undefined): string | undefined =>
  score === undefined ? undefined : typeof score === 'string' ? score : JSON.stringify(score)

/** A name that the service accepts. Reports `field` if it's truncated. */
export const shortName = (to: Target, name: string, field: string): string =>
  short(name, () => to.unplaced(field, `truncated to ${MAX_NAME_LENGTH} characters`))

const short = (name: string, onCut?: () => void): string => cut(name, MAX_NAME_LENGTH, onCut)

function cut(text: string, length: number, onCut?: () => void): string {
  const wellFormed = text.toWellFormed()
  if (wellFormed.length <= length) return wellFormed
  const characters = [...wellFormed]
  if (characters.length <= length) return wellFormed
  onCut?.()
  return characters.slice(0, length).join('')
}

/** In feedback, a correction must have named fields. */
function correctionOf(to: Target, correction: Value | undefined, field: string): Record<string, unknown> | undefined {
  if (correction === undefined || correction === null) return undefined
  const object = isFields(correction) ? correction : { output: correction }
  if (new TextEncoder().encode(JSON.stringify(object)).length <= MAX_CORRECTION_BYTES) return object
  to.unplaced(field, `larger than ${MAX_CORRECTION_BYTES / 1024} KiB`)
  return undefined
}
