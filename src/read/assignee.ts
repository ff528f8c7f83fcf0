import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { isUuid } from '../domain/ids.ts'
import { described } from '../http/atoms.ts'
import { actorOf } from '../store/accounts/audit.ts'
import type { Assignee } from '../store/core/assignees.ts'

const ME = 'me'
const NOBODY = 'none'

/** The query parameter that selects spans by assignee. */
export const assigneeParameter = described(
  v.optional(
    v.pipe(
      v.string(),
      v.toLowerCase(),
      v.check(value => value === ME || value === NOBODY || isUuid(value), `must be ${ME}, ${NOBODY}, or a UUID`),
    ),
  ),
  "Only spans that need review and are assigned to you (`me`), to nobody (`none`), or to the user with this ID. For `me` or a user's ID, each page examines every trace in which the user has an open assignment, and no other traces.",
)

/** Whose assignments a caller asks for. */
export function assigneeFor(caller: Caller, value: string | undefined): Assignee | undefined {
  if (value === undefined) return undefined
  if (value === NOBODY) return null
  return value === ME ? actorOf(caller) : value
}
