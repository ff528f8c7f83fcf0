import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { USER_ID } from '../api/story.ts'
import { shownAs, Uuid } from '../http/atoms.ts'
import { MAX_REVIEWER_IDS } from '../limits.ts'
import { findActorNames } from '../store/accounts/users.ts'

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

const List = v.pipe(
  v.string(),
  v.regex(new RegExp(`^${UUID}(,${UUID}){0,${MAX_REVIEWER_IDS - 1}}$`)),
  v.metadata({ description: `1 to ${MAX_REVIEWER_IDS} IDs, separated by commas` }),
)

const Ids = v.pipe(
  shownAs(v.string(), List),
  v.transform(list => list.split(',')),
  v.array(Uuid),
  v.maxLength(MAX_REVIEWER_IDS, `must have at most ${MAX_REVIEWER_IDS} IDs`),
)

export const listReviewers = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/reviewers',
  summary: "List reviewers' names",
  description: 'Resolves the IDs in the fields `by` and `userId`. IDs that belong to no user or key are left out.',
  scope: ['read', 'review'],
  query: v.strictObject({ ids: Ids }),
  responses: {
    200: v.object({
      reviewers: v.array(
        v.object({
          id: Uuid,
          name: v.pipe(
            v.string(),
            v.metadata({
              description:
                "The name of a user or key, or the email of a user without a name. Keys limited to one project can't see emails, so their responses leave out users without a name.",
            }),
          ),
        }),
      ),
    }),
  },
  example: {
    query: { ids: USER_ID },
    answers: { 200: { reviewers: [{ id: USER_ID, name: 'Ada Lopez' }] } },
  },
}).handle(async ({ query, caller, store }) => {
  const ids = [...new Set(query.ids)]
  const names = await findActorNames(store, ids, { withEmails: caller.project === null })
  const reviewers = ids.flatMap(id => {
    const name = names.get(id)
    return name === undefined ? [] : [{ id, name }]
  })
  return { status: 200, body: { reviewers } }
})
