import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { JUDGED, PROJECT_ID, SPAN_ID, STARTED, TRACE_UUID, USER_ID } from '../api/story.ts'
import {
  type GroupAgreement,
  groupAgreement,
  type ReviewerAgreement,
  reviewerAgreement,
} from '../domain/reviewer-agreement.ts'
import { inTurns } from '../domain/turns.ts'
import { described, IsoTime, isoTime, timestamp, Uuid } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import {
  DAY_MS,
  MAX_COMPARED_OUTPUTS,
  MAX_COMPARED_REVIEWERS,
  MAX_COMPARED_STEPS,
  MAX_DIFFERING_OUTPUTS,
  RESAMPLES,
  SHOWN_COMMENT_LENGTH,
} from '../limits.ts'
import {
  type AgreementFilter,
  compareVotes,
  type VotedOutput as VotedOutputRecord,
} from '../store/reviews/agreement.ts'
import { projectSelector, selectedProject } from './project.ts'

/** The filters for the compared outputs. */
export const agreementFilters = {
  stepId: v.optional(described(v.string(), 'Only outputs from this step. Accepts any of its names.')),
  from: v.optional(timestamp('Only outputs whose first vote was at or after this time')),
  to: v.optional(timestamp('Only outputs whose first vote was before this time')),
}

/** The filter of a query. 400 if its range is empty. */
export function toAgreementFilter({ stepId, from, to }: AgreementFilter): AgreementFilter {
  if (from !== undefined && to !== undefined && from >= to) throw badRequest('must be before `to`', 'from')
  return { stepId, from, to }
}

const Estimate = v.object({
  value: described(v.nullable(v.number()), 'Null if the value is undefined'),
  interval: described(
    v.nullable(v.object({ low: v.number(), high: v.number() })),
    "The 95% interval. Null if there are too few votes, or if they're too similar.",
  ),
})

const outputsWithTwo = described(v.number(), 'The number of outputs with at least two labels')
const agreed = described(v.number(), 'The number of pairs that agree')
const agreement = described(Estimate, 'The share of pairs that agree')

const Group = v.object({
  outputs: outputsWithTwo,
  unanimous: described(v.number(), 'How many of these outputs got the same label from every reviewer'),
  pairs: described(v.number(), 'The number of pairs of labels that different reviewers gave to the same output'),
  agreed,
  agreement,
  alpha: described(Estimate, "Krippendorff's nominal α: 1 means full agreement, and 0 means no more than chance"),
})
const Share = v.object({ outputs: outputsWithTwo, pairs: v.number(), agreed, agreement })
const Pair = v.object({
  outputs: described(v.number(), 'The number of outputs that both reviewers labeled'),
  agreed: described(v.number(), 'How many of these outputs both labeled the same way'),
  agreement: described(Estimate, 'The share of outputs that both labeled the same way'),
  kappa: described(Estimate, "Cohen's κ: 1 means full agreement, and 0 means no more than chance"),
})
const Adjudicated = v.object({
  outputs: described(v.number(), 'The number of outputs that both the reviewer and the adjudicator labeled'),
  agreed: described(v.number(), 'How many of these outputs both labeled the same way'),
  agreement: described(Estimate, 'The share of outputs that both labeled the same way, with its score interval'),
})

const byLabel = <Schema extends v.GenericSchema>(schema: Schema) => ({
  decision: described(schema, 'The labels are decisions: accept or correct'),
  errorType: described(schema, 'The labels are the error types that votes name'),
})

const Judgment = v.object({
  by: Uuid,
  at: IsoTime,
  decision: v.picklist(['accept', 'correct']),
  errorType: v.nullable(v.string()),
  comment: described(v.nullable(v.string()), `The first ${SHOWN_COMMENT_LENGTH} characters of the comment`),
})

/** An output with its votes. */
export const VotedOutput = v.object({
  traceId: Uuid,
  spanId: Uuid,
  stepId: v.string(),
  firstVoteAt: IsoTime,
  votes: described(v.array(Judgment), "Each reviewer's first vote"),
  adjudication: described(v.nullable(Judgment), "The adjudicator's decision. Null if there is none."),
})

export const toVotedOutput = ({ traceId, spanId, stepId, at, votes, adjudication }: VotedOutputRecord) => ({
  traceId,
  spanId,
  stepId,
  firstVoteAt: isoTime(at),
  votes: votes.map(toJudgment),
  adjudication: adjudication && toJudgment(adjudication),
})

const toJudgment = ({ userId, at, ...judgment }: VotedOutputRecord['votes'][number]) => ({
  by: userId,
  at: isoTime(at),
  ...judgment,
})

const OTHER_USER_ID = 'f2a3b4c5-6d7e-5f8a-9b9c-0d1e2f3a4bc2'
const ALL = {
  decision: {
    outputs: 60,
    unanimous: 51,
    pairs: 60,
    agreed: 51,
    agreement: { value: 0.85, interval: { low: 0.7667, high: 0.9333 } },
    alpha: { value: 0.5789, interval: { low: 0.3261, high: 0.7953 } },
  },
  errorType: {
    outputs: 6,
    unanimous: 5,
    pairs: 6,
    agreed: 5,
    agreement: { value: 0.8333, interval: { low: 0.5, high: 1 } },
    alpha: { value: null, interval: null },
  },
}
const NONE: GroupAgreement = {
  outputs: 0,
  unanimous: 0,
  pairs: 0,
  agreed: 0,
  agreement: { value: null, interval: null },
  alpha: { value: null, interval: null },
}
const { unanimous: _, alpha: __, ...SHARE } = ALL.decision

export const votedOutput = {
  traceId: TRACE_UUID,
  spanId: SPAN_ID,
  stepId: 'generate-answer',
  firstVoteAt: STARTED,
  votes: [
    { by: USER_ID, at: STARTED, decision: 'accept', errorType: null, comment: null },
    {
      by: OTHER_USER_ID,
      at: JUDGED,
      decision: 'correct',
      errorType: 'context_misinterpretation',
      comment: 'The premium plan has 24 months.',
    },
  ],
  adjudication: null,
} as const

export const getAgreement = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/agreement',
  summary: 'Get figures on how often reviewers agree',
  description:
    "Compares the reviewers' first votes on each output. A vote counts if it was cast under a blind policy, on a span in " +
    "the policy's sample, before anybody decided on the output. Other first votes are compared separately, in `apart`. " +
    "Withdrawn votes are left out. An output still counts after there's a decision on it, or after it's replaced. " +
    `Intervals are 95% percentile intervals over ${RESAMPLES} resamples of the outputs. The same votes always give the same intervals. ` +
    'Requires the `manage` scope, or the `review` scope of an adjudicator. For callers subject to a blind policy, the figures ' +
    'leave out outputs without a decision.',
  scope: 'manage',
  isForAdjudicators: true,
  query: v.strictObject({ ...projectSelector, ...agreementFilters }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      isCut: described(
        v.boolean(),
        `Whether there are more than ${MAX_COMPARED_OUTPUTS} outputs. Only the newest ${MAX_COMPARED_OUTPUTS} are compared.`,
      ),
      ...byLabel(Group),
      steps: described(
        v.array(v.object({ stepId: v.string(), ...byLabel(Group) })),
        `At most ${MAX_COMPARED_STEPS} steps. Those with the most outputs come first.`,
      ),
      stepCount: v.number(),
      weeks: described(
        v.array(v.object({ week: described(v.string(), "The week's Monday, UTC"), ...byLabel(Group) })),
        'The outputs grouped by the week of their first vote, earliest week first',
      ),
      reviewers: described(
        v.array(
          v.object({
            userId: Uuid,
            votes: described(v.number(), 'The number of outputs that the reviewer voted on'),
            ...byLabel(Share),
            adjudicated: v.object(byLabel(Adjudicated)),
          }),
        ),
        `Compares each reviewer with all others and with adjudicators. Lists at most ${MAX_COMPARED_REVIEWERS} reviewers. Those with the most votes come first.`,
      ),
      reviewerCount: v.number(),
      pairs: described(
        v.array(v.object({ userIds: v.tuple([Uuid, Uuid]), ...byLabel(Pair) })),
        'The pairs of listed reviewers who both voted on at least one output',
      ),
      apart: described(v.object(byLabel(Group)), "Compares the votes that the other figures don't include"),
      differing: described(
        v.array(VotedOutput),
        `The outputs on which reviewers disagree most; at most ${MAX_DIFFERING_OUTPUTS}`,
      ),
    }),
  },
  example: {
    query: { projectId: PROJECT_ID },
    answers: {
      200: {
        isCut: false,
        ...ALL,
        steps: [{ stepId: 'generate-answer', ...ALL }],
        stepCount: 1,
        weeks: [{ week: '2026-11-16', ...ALL }],
        reviewers: [
          {
            userId: USER_ID,
            votes: 64,
            decision: SHARE,
            errorType: { ...SHARE, outputs: 6, pairs: 6, agreed: 5 },
            adjudicated: {
              decision: {
                outputs: 9,
                agreed: 6,
                agreement: { value: 0.6667, interval: { low: 0.3542, high: 0.8794 } },
              },
              errorType: { outputs: 0, agreed: 0, agreement: { value: null, interval: null } },
            },
          },
        ],
        reviewerCount: 2,
        pairs: [
          {
            userIds: [USER_ID, OTHER_USER_ID],
            decision: {
              outputs: 60,
              agreed: 51,
              agreement: ALL.decision.agreement,
              kappa: { value: 0.5775, interval: { low: 0.3204, high: 0.7943 } },
            },
            errorType: {
              outputs: 6,
              agreed: 5,
              agreement: ALL.errorType.agreement,
              kappa: { value: null, interval: null },
            },
          },
        ],
        apart: { decision: NONE, errorType: NONE },
        differing: [votedOutput],
      },
    },
  },
}).handle(async context => {
  const { query, store } = context
  const filter = toAgreementFilter(query)
  const project = await selectedProject(context, query)
  const { counted, apart, differing, isCut } = await compareVotes(store, project, filter)
  const report = await inTurns(reviewerAgreement(counted))
  const others = await inTurns(groupAgreement(apart))
  return {
    status: 200,
    body: { isCut, ...toReport(report), apart: others, differing: differing.map(toVotedOutput) },
  }
})

const toReport = ({ all, weeks, ...report }: ReviewerAgreement) => ({
  ...all,
  ...report,
  weeks: weeks.map(({ week, ...group }) => ({ week: isoTime(week * DAY_MS).slice(0, 10), ...group })),
})
