import type { Finding } from '../../finding.ts'
import { isEqual } from '../../text/canonical.ts'
import { termsOfValue } from '../../text/terms.ts'
import { INTENT } from '../../text/vocabulary.ts'
import { differenceOf, similarity } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'

/** Checks the objector's ratings and comments, other reviewers' opinions, and earlier decisions on equal cases. */
export function* checkPeople({ dispute, disputes, supports, subject }: Scene): Generator<Finding> {
  if (!dispute) return
  const { step, userId } = dispute
  const at = { spanId: step.spanId, path: 'feedback' }
  const others = supports.filter(
    support => support.userId !== userId && (support.step === step || isEqual(support.step.output, step.output)),
  )
  if (others.length > 0)
    yield { kind: 'reviewers_disagree', ...at, note: 'shows that another reviewer approved the output', strength: 1 }
  const rivals = disputes.filter(
    other =>
      other !== dispute &&
      other.userId !== userId &&
      other.step === step &&
      other.approved !== undefined &&
      dispute.approved !== undefined,
  )
  if (
    rivals.some(
      ({ approved }) =>
        approved !== undefined &&
        dispute.approved !== undefined &&
        differenceOf(approved, dispute.approved).changes.length > 0,
    )
  ) {
    yield { kind: 'reviewers_disagree', ...at, note: 'contains two different corrections', strength: 0.8 }
  }
  const ratings = subject.feedback.flatMap(({ rating, userId: author }) =>
    author === userId && typeof rating === 'number' ? [rating] : [],
  )
  const [rating] = ratings
  if (rating !== undefined && rating >= 0.6)
    yield {
      kind: 'rated_well',
      ...at,
      note: `rates the output ${rating} but corrects it`,
      strength: Math.min(1, rating),
    }
  else if (rating !== undefined && rating >= 0.45)
    yield { kind: 'rated_middling', ...at, note: `rates the output ${rating}`, strength: 1 }
  const isLow =
    ratings.some(given => given <= 0.3) ||
    subject.feedback.some(({ rating: word, userId: author }) => author === userId && word === 'negative')
  if (isLow) yield { kind: 'rated_low', ...at, note: 'rates the output low', strength: 1 }
  const intent = dispute.comments.map(comment => INTENT.exec(comment)?.[0]).find(word => word !== undefined)
  if (intent !== undefined)
    yield { kind: 'comment_states_intent', ...at, note: `explains what was meant: "${intent}"`, strength: 1 }
  if (dispute.comments.length === 0) yield { kind: 'no_comment', ...at, note: 'gives no reason', strength: 1 }
  const equal = subject.steps.find(
    other =>
      other !== step &&
      other.review?.state === 'accepted' &&
      !other.isRoot &&
      isEqual(other.output, step.output) &&
      step.output !== null &&
      other.stepId !== step.stepId,
  )
  const twin = subject.steps.find(
    other =>
      other !== step &&
      other.review?.state === 'accepted' &&
      other.stepId === step.stepId &&
      isEqual(other.output, step.output),
  )
  const praised = supports.find(
    ({ step: other, userId: author }) =>
      other !== step && author === userId && other.stepId === step.stepId && isEqual(other.output, step.output),
  )
  const alike = subject.steps.find(
    other =>
      other !== step &&
      other.stepId === step.stepId &&
      supports.some(support => support.step === other && support.userId === userId) &&
      similarity(termsOfValue(other.output), termsOfValue(step.output)) >= 0.6,
  )
  const accepted = twin ?? equal ?? praised?.step ?? alike
  if (accepted)
    yield {
      kind: 'equal_case_accepted',
      spanId: accepted.spanId,
      path: 'output',
      note: 'is the same and was accepted',
      strength: 1,
    }
  for (const precedent of step.precedents) {
    if (dispute.approved !== undefined && isEqual(precedent.approvedOutput, dispute.approved))
      yield {
        kind: 'precedent_agrees',
        spanId: precedent.spanId,
        path: 'approvedOutput',
        note: 'was approved for the same input and matches the correction',
        strength: 1,
      }
    else if (isEqual(precedent.approvedOutput, step.output))
      yield {
        kind: 'precedent_contradicts',
        spanId: precedent.spanId,
        path: 'approvedOutput',
        note: `was approved for the same input: ${quote(precedent.approvedOutput)}`,
        strength: 1,
      }
  }
}
