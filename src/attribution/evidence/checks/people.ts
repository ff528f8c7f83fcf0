import type { Finding } from '../../finding.ts'
import { isEqual } from '../../text/canonical.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'

/** Checks ratings, what other people said about the output, and decisions on identical cases. */
export function* checkPeople({ dispute, supports, subject }: Scene): Generator<Finding> {
  if (!dispute) return
  const { step, userId, approved } = dispute
  const at = { spanId: step.spanId, path: 'feedback' }
  const defender = supports.find(
    each => each.userId !== userId && (each.step === step || isEqual(each.step.output, step.output)),
  )
  if (defender) {
    const note = 'shows that another person approved the output'
    yield { kind: 'reviewers_disagree', ...at, note, strength: 1 }
  }
  const rating = subject.feedback.find(each => each.userId === userId && typeof each.rating === 'number')?.rating
  if (typeof rating === 'number' && rating >= 0.45) {
    const kind = rating >= 0.6 ? 'rated_well' : 'rated_middling'
    yield { kind, ...at, note: `rates the output ${rating} but objects to it`, strength: 1 }
  }
  if (dispute.comments.length === 0) yield { kind: 'no_comment', ...at, note: 'gives no reason', strength: 1 }
  const equal = subject.steps.find(
    other =>
      other !== step &&
      step.output !== null &&
      isEqual(other.output, step.output) &&
      (other.stepId === step.stepId || (other.review?.state === 'accepted' && !other.isRoot)) &&
      supports.some(support => support.step === other && support.userId === userId),
  )
  if (equal) {
    const note = 'is identical to the disputed output, and the same person accepted it'
    yield { kind: 'equal_case_accepted', spanId: equal.spanId, path: 'output', note, strength: 1 }
  }
  for (const { spanId, approvedOutput } of step.precedents) {
    const place = { spanId, path: 'approvedOutput', strength: 1 }
    const was = 'was approved for the same input'
    if (approved !== undefined && isEqual(approvedOutput, approved))
      yield { kind: 'precedent_agrees', ...place, note: `${was} and matches the correction` }
    else if (isEqual(approvedOutput, step.output))
      yield { kind: 'precedent_contradicts', ...place, note: `${was}: ${quote(approvedOutput)}` }
  }
}
