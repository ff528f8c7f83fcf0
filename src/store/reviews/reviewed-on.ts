import { sql } from 'drizzle-orm'
import { DAY_MS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import type { Store } from '../core/store.ts'
import { reviewDays } from '../schema/counts.ts'
import { votes } from '../schema/reviews.ts'

/**
 * The query for the number of spans that each reviewer reviewed on each day of a range: their current decisions, as
 * shown in insights, and their votes. Decisions that follow from votes are left out, because the votes are counted
 * instead.
 */
export function reviewedOn({ database }: Store, project: Project, { from, to }: { from: number; to: number }) {
  const day = sql.raw(String(DAY_MS))
  const decided = sql`select ${reviewDays.day} as day, ${reviewDays.userId} as user_id,
      ${reviewDays.accepted} + ${reviewDays.corrected} - ${reviewDays.byVotes} as reviewed
    from ${reviewDays}
    where ${reviewDays.projectKey} = ${project.key} and ${reviewDays.day} >= ${from} and ${reviewDays.day} < ${to}`
  const voted = sql`select ${votes.firstAt} / ${day} as day, ${votes.userId} as user_id, 1 as reviewed
    from ${votes}
    where ${votes.projectKey} = ${project.key} and ${votes.firstAt} >= ${from} * ${day} and ${votes.firstAt} < ${to} * ${day}
      and ${votes.decision} <> 'reset'`
  return database
    .select({
      day: sql<number>`day`.as('day'),
      userId: sql<string>`user_id`.as('userId'),
      reviewed: sql<number>`sum(reviewed)`.as('reviewed'),
    })
    .from(sql`(${decided} union all ${voted}) as scanned`)
    .groupBy(sql`day, user_id`)
    .having(sql`sum(reviewed) > 0`)
}

/** How many spans each reviewer has reviewed today, highest number first. */
export function toToday(rows: readonly { userId: string; reviewed: number }[]) {
  const sums = new Map<string, number>()
  for (const { userId, reviewed } of rows) sums.set(userId, (sums.get(userId) ?? 0) + reviewed)
  return [...sums]
    .map(([userId, reviewed]) => ({ userId, reviewed }))
    .toSorted((left, right) => right.reviewed - left.reviewed)
}
