import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID, USER_ID } from '../api/story.ts'
import { described, isoTime, Uuid } from '../http/atoms.ts'
import { DAY_MS, MAX_COUNTED_ASSIGNMENTS } from '../limits.ts'
import { dayParameters, daysOf } from '../read/days.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { readProgress } from '../store/reviews/progress.ts'

export const getProgress = endpoint({
  family: 'review',
  method: 'GET',
  path: '/api/review-queue/progress',
  summary: "Get each person's review progress and remaining assignments",
  description: 'Lists everyone who reviewed something on these days or has open assignments.',
  scope: 'review',
  reads: 'primary',
  query: v.strictObject({ ...projectSelector, ...dayParameters }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      people: v.array(
        v.object({
          userId: described(Uuid, 'A user, or a key that acts for no user'),
          reviewed: described(v.number(), 'The total number of spans reviewed on these days'),
          days: described(
            v.array(v.object({ day: v.pipe(v.string(), v.isoDate()), reviewed: v.number() })),
            "Days without reviews are left out. Reviews are counted as in the queue's `today`.",
          ),
          open: described(v.number(), 'How many assigned spans this person has yet to review'),
          overdue: described(v.number(), 'How many of those spans are past their due date'),
        }),
      ),
      openIsMinimum: described(
        v.boolean(),
        `Whether the project has more than ${MAX_COUNTED_ASSIGNMENTS} open assignments, so that not all of them were counted`,
      ),
    }),
  },
  example: {
    query: { projectId: PROJECT_ID },
    answers: {
      200: {
        people: [{ userId: USER_ID, reviewed: 14, days: [{ day: '2026-11-21', reviewed: 14 }], open: 12, overdue: 3 }],
        openIsMinimum: false,
      },
    },
  },
}).handle(async context => {
  const { query, store, now } = context
  const project = await selectedProject(context, query)
  const { reviewed, assigned, isMinimum } = await readProgress(store, project, daysOf(query, now), now)
  const daysOfUser = Map.groupBy(reviewed, ({ userId }) => userId)
  const assignedOf = new Map(assigned.map(each => [each.userId, each]))
  const people = [...new Set([...assignedOf.keys(), ...daysOfUser.keys()])].sort().map(userId => {
    const days = daysOfUser.get(userId) ?? []
    const { open = 0, overdue = 0 } = assignedOf.get(userId) ?? {}
    return {
      userId,
      reviewed: days.reduce((sum, { reviewed }) => sum + reviewed, 0),
      days: days.map(({ day, reviewed }) => ({ day: isoTime(day * DAY_MS).slice(0, 10), reviewed })),
      open,
      overdue,
    }
  })
  return { status: 200, body: { people, openIsMinimum: isMinimum } }
})
