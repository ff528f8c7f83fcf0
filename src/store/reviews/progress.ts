import { and, eq, sql } from 'drizzle-orm'
import { MAX_COUNTED_ASSIGNMENTS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { readShards, sumRows } from '../core/across.ts'
import { readPlain } from '../core/database.ts'
import { isReviewedWithOther, isUnreviewed } from '../core/reviewable.ts'
import { waitsFor } from '../core/standing-votes.ts'
import type { Store } from '../core/store.ts'
import { reviewAssignments } from '../schema/review-assignments.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLiveIn } from '../traces/live.ts'
import { reviewedOn } from './reviewed-on.ts'

interface Progress {
  reviewed: readonly { userId: string; day: number; reviewed: number }[]
  assigned: readonly { userId: string; open: number; overdue: number }[]
  /** Whether there are more assignments than were counted. */
  isMinimum: boolean
}

/** What each reviewer did on each of the given days, and what they have left to do. Takes one round trip. */
export async function readProgress(
  store: Store,
  project: Project,
  days: { from: number; to: number },
  now: number,
): Promise<Progress> {
  const parts = await readShards(store, shard => readProgressIn(shard, project, days, now))
  const reviewed = sumRows(
    parts.map(part => part.reviewed),
    ({ userId, day }) => [userId, day],
    ([first, ...others]) => ({ ...first, reviewed: others.reduce((sum, each) => sum + each.reviewed, first.reviewed) }),
  )
  const assigned = sumRows(
    parts.map(part => part.assigned),
    ({ userId }) => [userId],
    ([first, ...others]) => ({
      ...first,
      open: others.reduce((sum, each) => sum + each.open, first.open),
      overdue: others.reduce((sum, each) => sum + each.overdue, first.overdue),
    }),
  )
  return { reviewed, assigned, isMinimum: parts.some(({ isMinimum }) => isMinimum) }
}

async function readProgressIn(
  store: Store,
  project: Project,
  days: { from: number; to: number },
  now: number,
): Promise<Progress> {
  const { database } = store
  const open = database
    .select({
      traceKey: reviewAssignments.traceKey,
      spanId: reviewAssignments.spanId,
      userId: reviewAssignments.userId,
      dueAt: reviewAssignments.dueAt,
    })
    .from(reviewAssignments)
    .where(and(eq(reviewAssignments.projectKey, project.key), sql`${reviewAssignments.isOpen} = 1`))
    .limit(MAX_COUNTED_ASSIGNMENTS + 1)
    .as('scanned')
  const [reviewed, assigned, counted] = await readPlain(database, [
    reviewedOn(store, project, days),
    database
      .select({
        userId: sql<string>`${open.userId}`.as('userId'),
        open: sql<number>`count(*)`.as('open'),
        overdue: sql<number>`coalesce(sum(${open.dueAt} < ${now}), 0)`.as('overdue'),
      })
      .from(open)
      .crossJoin(traces)
      .crossJoin(spans)
      .where(
        isLiveIn(
          store,
          project,
          sql`${traces.key} = ${open.traceKey} and ${spans.id} = ${open.spanId} and ${spans.traceKey} = ${traces.key}
            and ${isUnreviewed} and not ${isReviewedWithOther} and ${waitsFor(open.userId)}`,
        ),
      )
      .groupBy(open.userId),
    database.select({ count: sql<number>`count(*)`.as('count') }).from(open),
  ])
  return { reviewed, assigned, isMinimum: (counted[0]?.count ?? 0) > MAX_COUNTED_ASSIGNMENTS }
}
