import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { isJsonObject } from '../domain/json.ts'
import { NO_POLICY, type StepPolicy } from '../domain/review-policy.ts'
import { compareCodePoints } from '../domain/text.ts'
import { described, object, pathItem, shownAs, Uuid, wholeNumber } from '../http/atoms.ts'
import { invalidRequest } from '../http/errors.ts'
import { validationDetails } from '../http/validation.ts'
import { ENVELOPE_BYTES, escaped, MAX_NAME_LENGTH, MAX_POLICY_STEPS, MAX_REVIEWERS } from '../limits.ts'
import { reviewPolicy } from '../read/examples.ts'
import { selectedProject } from '../read/project.ts'
import { AlwaysRules, ReviewPolicy, toReviewPolicy } from '../read/review-policy-wire.ts'
import { saveReviewPolicy } from '../store/accounts/review-policies.ts'
import { Name } from './wire.ts'

/** The size of a body with the maximum number of steps. Each character of a name may need two escapes. */
const MAX_POLICY_BYTES = MAX_POLICY_STEPS * (escaped(2 * MAX_NAME_LENGTH) + 128) + ENVELOPE_BYTES

const StepFields = object(
  v.strictObject({
    sample: described(
      v.optional(v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(1, 'must be at most 1'))),
      "The share of the step's outputs that the queue should offer, from 0 to 1. If it's 0, the queue offers none of them.",
    ),
    reviewers: described(v.optional(wholeNumber(1, MAX_REVIEWERS)), 'How many people should review each output'),
    blind: described(
      v.optional(v.boolean()),
      "Whether to hide other people's votes and comments on an output from reviewers until there's a decision on it",
    ),
  }),
)

const Steps = v.pipe(
  // Not a `v.record`, which leaves out names like `constructor`.
  shownAs(v.custom<object>(isJsonObject, 'must be an object'), v.record(Name, StepFields)),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const entries = Object.entries(dataset.value)
    if (entries.length > MAX_POLICY_STEPS) {
      addIssue({ message: `must have at most ${MAX_POLICY_STEPS} steps` })
      return NEVER
    }
    const steps = new Map<string, v.InferOutput<typeof StepFields>>()
    for (const [stepId, value] of entries) {
      const [name, fields] = [v.safeParse(Name, stepId), v.safeParse(StepFields, value)]
      for (const { message } of name.issues ?? []) {
        addIssue({ message: `the step's name ${message}`, path: [pathItem(stepId)] })
      }
      for (const { message, path } of validationDetails(fields.issues ?? [])) {
        addIssue({ message, path: [pathItem(stepId), ...(path === '' ? [] : [pathItem(path)])] })
      }
      if (fields.success) steps.set(stepId, fields.output)
    }
    return steps
  }),
)

export const putReviewPolicy = endpoint({
  family: 'manage',
  method: 'PUT',
  path: '/api/projects/{projectId}/review-policy',
  summary: "Set a project's review policy",
  description:
    "Sets which outputs the review queue offers, and how many people review each. Replaces the whole policy. If the body is an empty object, the queue offers every output again. Existing decisions stay, and spans outside the policy can still be reviewed. If a trace's root is reviewed through another span, the policy of that span's step applies. If you rename a step, its policy moves with it. Only people can make this call.",
  scope: 'manage',
  params: v.object({ projectId: Uuid }),
  body: v.strictObject({
    default: described(
      v.optional(StepFields, {}),
      "The policy for steps that aren't in `steps`. If you omit it, the queue offers every output to one reviewer, and the policy isn't blind. The same defaults apply to each field that you omit.",
    ),
    steps: described(
      v.optional(Steps, {}),
      `The policies of individual steps, keyed by any of a step's names; at most ${MAX_POLICY_STEPS} entries. Omitted fields are taken from \`default\`.`,
    ),
    always: v.optional(AlwaysRules, []),
  }),
  maxBytes: MAX_POLICY_BYTES,
  responses: { 200: ReviewPolicy },
  example: {
    params: { projectId: PROJECT_ID },
    body: {
      steps: { 'generate-answer': { sample: 0.1, reviewers: 2, blind: true }, 'embed-query': { sample: 0 } },
      always: ['negative', 'error'],
    },
    answers: { 200: reviewPolicy },
  },
}).handle(async context => {
  const { params, body, caller, store, act } = context
  requirePerson(caller)
  const project = await selectedProject(context, params)
  const other = withFields(NO_POLICY.default, body.default)
  const steps = new Map([...body.steps].map(([stepId, fields]) => [stepId, withFields(other, fields)]))
  const { policy, clashing } = await saveReviewPolicy(store, act, project, {
    default: other,
    steps,
    always: body.always,
  })
  const [namesakes] = clashing
  if (namesakes) {
    const [first, ...others] = namesakes.toSorted(compareCodePoints)
    throw invalidRequest(
      others.map(stepId => ({
        path: `steps.${stepId}`,
        message: `is the same step as "${first}", because both have the same new name`,
      })),
    )
  }
  return { status: 200, body: toReviewPolicy(policy) }
})

/** A step's policy, changed by the fields that a request sets. */
const withFields = (
  policy: StepPolicy,
  { sample, reviewers, blind }: v.InferOutput<typeof StepFields>,
): StepPolicy => ({
  sample: sample ?? policy.sample,
  reviewers: reviewers ?? policy.reviewers,
  isBlind: blind ?? policy.isBlind,
})
