import { beforeAll, describe, it } from 'vitest'
import { MAX_SEARCH_FILTERS } from '../../src/limits.ts'
import { QUEUE_ORDERS } from '../../src/store/reviews/queue-order.ts'
import { aSpan, aTrace, TIME } from '../support/builders.ts'
import { type Client, newOrg } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'
import { adjudicatorOf } from '../support/voting.ts'

/*
 * SQLite rejects expressions that are nested more than 100 levels deep, and each filter, rule, and policy makes the
 * queue's expressions deeper. If SQLite rejects a statement, the request fails, even if no spans match.
 */

const TODAY = new Date().toISOString()

/** Every filter except the assignee. */
const EVERY_FILTER = new URLSearchParams({
  projectSlug: 'support',
  status: 'completed',
  name: 'run',
  from: TIME,
  to: TODAY,
  stepId: 'answer',
  promptVersionId: crypto.randomUUID(),
  hasFeedback: 'true',
  rating: 'negative',
  review: 'unreviewed',
  errorType: 'reasoning_error',
  engineErrorType: 'reasoning_error',
  engineStepId: 'answer',
  engineHasStep: 'true',
  engineFrom: TIME,
  engineTo: TODAY,
  kind: 'all',
  ...Object.fromEntries(Array.from({ length: MAX_SEARCH_FILTERS }, (_, index) => [`metadata.field${index}`, 'x'])),
})

const withoutKind = new URLSearchParams(EVERY_FILTER)
withoutKind.delete('kind')

describe('the deepest query', () => {
  const callers = new Map<string, Client>()
  let userId: string
  beforeAll(async () => {
    const org = await newOrg()
    const project = `/api/projects/${org.project.id}`
    await org.owner.put(`${project}/step-names`, { names: { answer: 'reply' } })
    const policy = { sample: 0.5, reviewers: 2, blind: true }
    const always = ['negative', 'error', 'low_confidence']
    await org.owner.put(`${project}/review-policy`, { default: policy, steps: { reply: policy }, always })
    const [reviewer, adjudicator] = [await reviewerOf(org), await adjudicatorOf(org)]
    userId = reviewer.userId
    callers.set('a blind reviewer', reviewer.client)
    callers.set('a blind manager', org.owner)
    callers.set('an adjudicator', adjudicator.client)
    const spanIds = []
    for (let index = 0; index < 2; index++) {
      const { trace_id } = aTrace()
      await org.ingest.post('/api/v1/traces', { ...aTrace(), trace_id })
      const span = aSpan({ trace_id, step_id: 'answer' })
      await org.ingest.post('/api/v1/spans', span)
      spanIds.push(span.span_id)
    }
    await org.owner.post('/api/review-queue/assign', { spanIds, userIds: [reviewer.userId, adjudicator.userId] })
  })

  /**
   * Requests a caller's first page and a later page with each set of filters, and returns the statuses. The later
   * page's cursor comes from an unfiltered page, which isn't empty.
   */
  async function statusesOf(name: string, parameters: object): Promise<number[]> {
    const caller = callers.get(name)
    if (!caller) throw new Error(`Unknown caller: ${name}`)
    const own = new URLSearchParams({ ...parameters }).toString()
    const { body } = await caller.get(`/api/review-queue?projectSlug=support&limit=1&${own}`)
    const places = ['', ...(body.nextCursor ? [`&cursor=${body.nextCursor}`] : [])]
    const statuses: number[] = []
    for (const filters of [EVERY_FILTER, withoutKind]) {
      for (const place of places) {
        statuses.push((await caller.get(`/api/review-queue?${filters}&${own}${place}`)).status)
      }
    }
    return statuses
  }

  const callersAndOrders = ['a blind reviewer', 'a blind manager', 'an adjudicator'].flatMap(name =>
    QUEUE_ORDERS.map(order => [name, order] as const),
  )
  it.for(callersAndOrders)('is accepted for %s in the order `%s`', async ([name, order], { expect }) => {
    const assignees = ['me', 'none', userId].map(assignee => ({ assignee }))
    const others = order === 'mine' ? [] : assignees.filter(({ assignee }) => order !== 'due' || assignee !== 'none')
    for (const assignee of [...(order === 'due' ? [] : [{}]), ...others]) {
      for (const all of ['false', 'true']) {
        const parameters = { order, all, ...assignee }
        const statuses = await statusesOf(name, parameters)
        expect([parameters, statuses]).toEqual([parameters, statuses.map(() => 200)])
      }
    }
  })

  it.for(['oldest', 'newest'])('is accepted for disputed spans, %s first', async (order, { expect }) => {
    for (const assignee of [{}, { assignee: 'me' }, { assignee: 'none' }, { assignee: userId }]) {
      const statuses = await statusesOf('an adjudicator', { order, disputed: 'true', ...assignee })
      expect([assignee, statuses]).toEqual([assignee, [200, 200]])
    }
  })

  it.for(['a blind reviewer', 'a blind manager', 'an adjudicator'])(
    'is accepted for trace lists with a text search, for %s',
    async (name, { expect }) => {
      const texts = 'contains=word&nameContains=word'
      for (const filters of [EVERY_FILTER, withoutKind]) {
        const response = await callers.get(name)?.get(`/api/traces?${filters}&${texts}`)
        expect([response?.status, response?.body]).toEqual([200, expect.anything()])
      }
    },
  )

  it('is accepted for assigning the spans that a filter selects', async ({ expect }) => {
    const fields = [...withoutKind].filter(([name]) => !name.startsWith('metadata.'))
    const metadata = Object.fromEntries(
      Array.from({ length: MAX_SEARCH_FILTERS }, (_, index) => [`field${index}`, 'x']),
    )
    const filter = { ...Object.fromEntries(fields), metadata }
    const body = { filter, userIds: [userId], replace: true, dueAt: TODAY }
    const response = await callers.get('a blind manager')?.post('/api/review-queue/assign', body)
    expect([response?.status, response?.body]).toEqual([200, expect.anything()])
  })
})
