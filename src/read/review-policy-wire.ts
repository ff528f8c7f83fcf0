import * as v from 'valibot'
import { ALWAYS_RULES, LOW_CONFIDENCE, type StepPolicy as StoredStepPolicy } from '../domain/review-policy.ts'
import { described, IsoTime, isoTime } from '../http/atoms.ts'
import type { PolicyRecord } from '../store/accounts/review-policies.ts'

const StepPolicy = v.object({
  sample: described(
    v.number(),
    "The share of the step's outputs that the queue offers, from 0 to 1. Each span's ID determines whether it's included. If the share is 0, the queue offers no outputs of the step, not even those that `always` selects.",
  ),
  reviewers: described(v.number(), 'How many people review each output'),
  blind: described(
    v.boolean(),
    "Whether other people's votes and comments on an output are hidden from reviewers until there's a decision on it",
  ),
})

export const AlwaysRules = described(
  v.array(v.picklist(ALWAYS_RULES)),
  `Which outputs to offer in addition to the sample. \`negative\`: outputs from traces with negative feedback. \`error\`: outputs from spans and traces that ended in an error. \`low_confidence\`: outputs that an engine blames with a confidence below ${LOW_CONFIDENCE} or, if it blames no span, all outputs of the trace.`,
)

/** Which of a project's outputs are reviewed, and how. */
export const ReviewPolicy = v.object({
  default: described(StepPolicy, "Applies to the steps that `steps` doesn't list"),
  steps: described(v.record(v.string(), StepPolicy), 'By step. If a step was renamed, by its new name.'),
  always: AlwaysRules,
  updatedAt: described(v.nullable(IsoTime), 'Null if the policy was never set'),
})

export const toReviewPolicy = (policy: PolicyRecord): v.InferOutput<typeof ReviewPolicy> => ({
  default: toStepPolicy(policy.default),
  steps: Object.fromEntries([...policy.steps].map(([stepId, step]) => [stepId, toStepPolicy(step)])),
  always: [...policy.always],
  updatedAt: policy.updatedAt === null ? null : isoTime(policy.updatedAt),
})

const toStepPolicy = ({ sample, reviewers, isBlind }: StoredStepPolicy) => ({ sample, reviewers, blind: isBlind })
