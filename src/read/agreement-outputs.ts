import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, PROJECT_ID } from '../api/story.ts'
import { described, uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest } from '../http/errors.ts'
import { listVotedOutputs } from '../store/reviews/agreement.ts'
import { agreementFilters, toAgreementFilter, toVotedOutput, VotedOutput, votedOutput } from './agreement.ts'
import { projectSelector, selectedProject } from './project.ts'

export const listAgreementOutputs = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/agreement/outputs',
  summary: "List the outputs behind the reviewers' agreement",
  description:
    'Lists the outputs that `GET /api/agreement` counts, sorted by the time of their first vote, newest first. Requires the `manage` scope, ' +
    "or the `review` scope of an adjudicator. Callers subject to a blind policy don't see outputs without a decision.",
  scope: 'manage',
  isForAdjudicators: true,
  query: v.strictObject({
    ...projectSelector,
    ...agreementFilters,
    label: v.optional(
      described(v.picklist(['decision', 'errorType']), 'Only outputs with at least two labels of this kind'),
    ),
    agrees: v.optional(
      described(v.picklist(['true', 'false']), 'Whether the compared labels are all the same. Requires `label`.'),
    ),
    reviewerId: v.optional(uuid('Only outputs that this reviewer voted on')),
    withReviewerId: v.optional(
      uuid('Compares only the labels of this reviewer and of `reviewerId`. Requires `label` and `reviewerId`.'),
    ),
    withAdjudicator: v.optional(
      described(
        v.literal('true'),
        "Compares only the labels of `reviewerId` and of the adjudicator. Requires `label` and `reviewerId`, and can't be combined with `withReviewerId`.",
      ),
    ),
    apart: v.optional(
      described(
        v.literal('true'),
        'Whether to list the outputs that the `apart` figures of `GET /api/agreement` count, instead of all others',
      ),
    ),
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ outputs: v.array(VotedOutput), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID, label: 'decision', agrees: 'false' },
    answers: { 200: { outputs: [votedOutput], nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { query, store } = context
  const { label, agrees, reviewerId, withReviewerId, withAdjudicator, apart } = query
  const isAgreed = agrees === undefined ? undefined : agrees === 'true'
  if (isAgreed !== undefined && label === undefined) throw badRequest('requires label', 'agrees')
  for (const [name, value] of Object.entries({ withReviewerId, withAdjudicator })) {
    if (value === undefined) continue
    if (label === undefined) throw badRequest('requires label', name)
    if (reviewerId === undefined) throw badRequest('requires reviewerId', name)
  }
  if (withReviewerId !== undefined && withAdjudicator !== undefined) {
    throw badRequest('must not be combined with `withReviewerId`', 'withAdjudicator')
  }
  const filter = {
    ...toAgreementFilter(query),
    label,
    isAgreed,
    reviewerId,
    with: withReviewerId === undefined ? withAdjudicator && ('adjudicator' as const) : { reviewerId: withReviewerId },
    isCounted: apart === undefined,
  }
  const project = await selectedProject(context, query)
  const { items, nextCursor } = await pageOf({
    list: ['agreement-outputs', store.organization.id, project.id],
    query,
    place: ['number', 'string', 'string'],
    read: async (limit, after) => {
      const place = after && { at: after[0], spanId: after[1], outputRevision: after[2] }
      return listVotedOutputs(store, project, filter, { limit, after: place })
    },
  })
  return { status: 200, body: { outputs: items.map(toVotedOutput), nextCursor } }
})
