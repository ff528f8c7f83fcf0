import { afterEach, beforeAll, describe, it, vi } from 'vitest'
import { HELD } from '../../src/http/errors.ts'
import {
  CLAIM_MS,
  MAX_CLAIMS,
  MAX_COUNTED_TRACES,
  MAX_REMAINING,
  MAX_SEARCH_FILTERS,
  SHUFFLED_TRACES,
} from '../../src/limits.ts'
import { resultsOf } from '../support/batch.ts'
import { countingBindings, rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { aTraceId, timeAfter } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { type Client, newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'
import { storedCounts } from '../support/stored.ts'
import { manyTraces } from '../support/traces.ts'

const QUEUE = '/api/review-queue?projectSlug=support'

interface Queued {
  id: string
  stepId: string
  createdAt: string
  trace: { id: string; traceId: string }
}

/** Creates traces a second apart. Each has two steps with an output and one without, and a root without an output. */
async function fill(org: Org, count: number, fieldsOf: (index: number) => object = () => ({})) {
  const traces = Array.from({ length: count }, (_, index) => {
    const trace_id = aTraceId()
    const spans = ['first', 'second', 'no-output'].map((step_id, place) => ({
      trace_id,
      span_id: crypto.randomUUID(),
      step_id,
      ...(step_id !== 'no-output' && { output: { step_id, index } }),
      timestamp: timeAfter(index * 1000 + place),
    }))
    const trace = { trace_id, name: 'run', status: 'running', timestamp: timeAfter(index * 1000), ...fieldsOf(index) }
    return { trace_id, spans, trace, reviewable: spans.slice(0, 2).map(({ span_id }) => span_id) }
  })
  for (let start = 0; start < traces.length; start += 200) {
    const events = traces
      .slice(start, start + 200)
      .flatMap(({ trace, spans }) => [{ type: 'trace', body: trace }, ...spans.map(body => ({ type: 'span', body }))])
    const results = await resultsOf(org, events)
    const rejected = results.find(({ status }) => status !== 202)
    if (rejected) throw new Error(JSON.stringify(rejected))
  }
  return traces
}

const idsOf = (spans: readonly Queued[]): string[] => spans.map(({ id }) => id)

/** Reads every span in the queue. */
async function walk(client: Client, query: string, limit: number): Promise<Queued[]> {
  const spans: Queued[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await client.get(`${QUEUE}&limit=${limit}&${query}${cursor}`)
    if (status !== 200) throw new Error(body.error)
    if (body.spans.length > limit) throw new Error('a page is longer than its limit')
    spans.push(...body.spans)
    if (body.nextCursor === null) return spans
    cursor = `&cursor=${body.nextCursor}`
  }
}

describe('the review queue', () => {
  let org: Org
  let oldest: string[]
  let negative: string[]
  beforeAll(async () => {
    org = await newOrg()
    const traces = await fill(org, 12, index => ({
      name: index % 4 === 0 ? 'special' : 'run',
      metadata: { parity: index % 2 },
    }))
    oldest = traces.flatMap(({ reviewable }) => reviewable)
    const negativeTraces = traces.filter((_, index) => index % 5 === 1)
    negative = negativeTraces.flatMap(({ reviewable }) => reviewable)
    for (const { trace_id } of negativeTraces)
      await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative' })
    await org.ingest.post('/api/v1/feedback', { trace_id: traces[0]?.trace_id, rating: 'positive' })
  })

  it.for([1, 2, 3, 7, 100])(
    'lists every span with an output exactly once, oldest first, in pages of %i',
    async (limit, { expect }) => {
      expect(idsOf(await walk(org.read, '', limit))).toEqual(oldest)
      expect(idsOf(await walk(org.read, 'order=oldest', limit))).toEqual(oldest)
    },
  )

  /** Reorders the traces, but not the spans within each trace. */
  const ofTraces = (spans: readonly string[], order: (pairs: string[][]) => string[][]) =>
    order(spans.flatMap((id, index) => (index % 2 === 0 ? [[id, spans[index + 1] ?? '']] : []))).flat()

  it.for([1, 3, 100])('lists the newest spans first on request, in pages of %i', async (limit, { expect }) => {
    const newest = ofTraces(oldest, pairs => pairs.toReversed())
    expect(idsOf(await walk(org.read, 'order=newest', limit))).toEqual(newest)
  })

  it.for([1, 3, 5, 100])(
    'lists spans in traces with negative feedback first on request, in pages of %i',
    async (limit, { expect }) => {
      const others = oldest.filter(id => !negative.includes(id))
      const expected = [negative, others].flatMap(part => ofTraces(part, pairs => pairs.toReversed()))
      expect(idsOf(await walk(org.read, 'order=negative', limit))).toEqual(expected)
    },
  )

  it.for([1, 5, 100])('lists each span once in random order on request, in pages of %i', async (limit, { expect }) => {
    const walks = []
    for (let index = 0; index < 4; index++) walks.push(idsOf(await walk(org.read, 'order=random', limit)))
    for (const ids of walks) expect(ids.toSorted()).toEqual(oldest.toSorted())
    // 12 traces have 12! orders, so two equal orders are practically impossible.
    expect(new Set(walks.map(ids => ids.join())).size).toBe(4)
  })

  it('shuffles again for each request, even if the traces arrived together', async ({ expect }) => {
    const orders = new Set<string>()
    for (let index = 0; index < 40; index++) {
      orders.add(idsOf((await org.read.get(`${QUEUE}&order=random`)).body.spans).join())
    }
    expect(orders.size).toBe(40)
  })

  it.for([
    ['name=special', (index: number) => index % 4 === 0],
    ['metadata.parity=1', (index: number) => index % 2 === 1],
    ['rating=negative', (index: number) => index % 5 === 1],
    ['hasFeedback=true&metadata.parity=0', (index: number) => (index % 5 === 1 || index === 0) && index % 2 === 0],
    [`from=${timeAfter(3000)}&to=${timeAfter(5000)}`, (index: number) => index === 3 || index === 4],
    ['status=completed', () => false],
    ['review=unreviewed', () => true],
    ['review=accepted', () => false],
  ] as const)('accepts the same filters as the trace list: %s', async ([query, isMatch], { expect }) => {
    const expected = oldest.filter((_, index) => isMatch(Math.floor(index / 2)))
    for (const order of ['oldest', 'newest', 'negative', 'random']) {
      const found = await walk(org.read, `${query}&order=${order}`, 4)
      expect(idsOf(found).toSorted()).toEqual(expected.toSorted())
      const { body } = await org.read.get(`${QUEUE}&${query}&order=${order}`)
      expect(body).toMatchObject({ remaining: expected.length, remainingIsMinimum: false })
    }
  })

  it.for(['oldest', 'newest', 'negative', 'random'])(
    'combines all filters on all pages: %s',
    async (order, { expect }) => {
      const org = await newOrg()
      const keys = Array.from({ length: MAX_SEARCH_FILTERS }, (_, index) => `k${index}`)
      const prompt = { projectSlug: 'support', stepId: 'second', content: 'Answer.' }
      const { versionId } = (await org.owner.post('/api/prompts', prompt)).body
      const traces = await fill(org, 3, () => ({ metadata: Object.fromEntries(keys.map(key => [key, 'v'])) }))
      for (const { trace_id, spans } of traces) {
        await org.ingest.post('/api/v1/spans', { ...spans[1], trace_id, prompt_version_id: versionId })
        await org.owner.put(`/api/spans/${spans[0]?.span_id}/review`, {
          decision: 'accept',
          errorType: 'system_failure',
        })
        await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative' })
      }
      const query = [
        'name=run&status=running&stepId=second&hasFeedback=true&rating=negative&review=mixed&errorType=system_failure',
        `promptVersionId=${versionId}&from=${timeAfter(0)}&to=${timeAfter(9000)}`,
        ...keys.map(key => `metadata.${key}=v`),
      ].join('&')
      const found = await walk(org.read, `${query}&order=${order}`, 1)
      expect(idsOf(found).toSorted()).toEqual(traces.map(({ reviewable }) => reviewable[1]).toSorted())
    },
  )

  it('filters by each span’s own step and prompt version', async ({ expect }) => {
    const found = await walk(org.read, 'stepId=second', 5)
    expect(found.map(({ stepId }) => stepId)).toEqual(Array.from({ length: 12 }, () => 'second'))
    expect((await org.read.get(`${QUEUE}&stepId=no-output`)).body).toMatchObject({ spans: [], remaining: 0 })
    expect((await org.read.get(`${QUEUE}&promptVersionId=${crypto.randomUUID()}`)).body.remaining).toBe(0)
  })

  it('returns each span exactly as a request for that span does', async ({ expect }) => {
    const { body } = await org.read.get(`${QUEUE}&limit=1`)
    expect(body.spans[0]).toEqual((await org.read.get(`/api/spans/${oldest[0]}`)).body)
    expect(body.remaining).toBe(oldest.length)
  })

  it.skipIf(isSharded)('takes two round trips and writes nothing', async ({ expect }) => {
    const { bindings, counts } = countingBindings()
    const key = await org.keyFor({})
    await org.clientOf(key).get(QUEUE)
    for (const order of ['oldest', 'newest', 'negative']) {
      counts.d1RoundTrips = 0
      await org.clientOf(key, bindings).get(`${QUEUE}&limit=5&order=${order}`)
      expect(counts).toMatchObject({ d1RoundTrips: 2, rowsWritten: 0 })
    }
  })

  it.for([
    ['an unknown order', 'order=best', 'order'],
    ['a typo', 'stepid=a', 'stepid'],
    ['a cursor for a different order', 'order=newest&cursor=', 'cursor'],
    ['an unknown payload mode', 'payloads=none', 'payloads'],
  ] as const)('returns a 400 for %s', async ([, query, path], { expect }) => {
    const { nextCursor } = (await org.read.get(`${QUEUE}&limit=1`)).body
    const response = await org.read.get(`${QUEUE}&${query}${path === 'cursor' ? nextCursor : ''}`)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
  })
})

describe('a span leaves the queue', () => {
  it('when it is reviewed, and returns when the review is reset', async ({ expect }) => {
    const org = await newOrg()
    const [first, second] = (await fill(org, 1)).flatMap(({ reviewable }) => reviewable)
    const queue = async () => idsOf((await org.read.get(QUEUE)).body.spans)
    await org.owner.put(`/api/spans/${first}/review`, { decision: 'accept' })
    expect(await queue()).toEqual([second])
    await org.owner.put(`/api/spans/${second}/review`, { decision: 'correct', approvedOutput: 1 })
    expect((await org.read.get(QUEUE)).body).toMatchObject({ spans: [], remaining: 0, nextCursor: null })
    await org.owner.put(`/api/spans/${first}/review`, { decision: 'reset' })
    expect(await queue()).toEqual([first])
  })

  it('even if it is reviewed while a page is being read', async ({ expect }) => {
    const org = await newOrg()
    const [first, second] = (await fill(org, 1)).flatMap(({ reviewable }) => reviewable)
    let isReviewed = false
    const bindings = wrapBindings(async (binding, call) => {
      const result = await call()
      if (binding === 'DB' && !isReviewed) {
        isReviewed = JSON.stringify(result).includes(String(first))
        if (isReviewed) await org.owner.put(`/api/spans/${first}/review`, { decision: 'accept' })
      }
      return result
    })
    const page = await org.clientOf(org.ownerKey, bindings).get(QUEUE)
    expect(isReviewed).toBe(true)
    expect(idsOf(page.body.spans)).toEqual([second])
  })

  it('when null replaces its output', async ({ expect }) => {
    const org = await newOrg()
    const [trace] = await fill(org, 1)
    const [first = '', second = ''] = trace?.reviewable ?? []
    const observe = (data: unknown, milliseconds: number) =>
      org.ingest.post('/api/v1/observations', {
        trace_id: trace?.trace_id,
        span_id: first,
        type: 'output',
        data,
        timestamp: timeAfter(milliseconds),
      })
    const queue = async () => {
      const { body } = await org.read.get(QUEUE)
      return { ids: idsOf(body.spans), remaining: body.remaining }
    }
    await observe(null, 5)
    expect(await queue()).toEqual({ ids: [second], remaining: 1 })
    await observe('Late', 4)
    expect(await queue()).toEqual({ ids: [second], remaining: 1 })
    await observe('Later', 6)
    expect(await queue()).toEqual({ ids: [first, second], remaining: 2 })
  })

  it('when its trace is deleted', async ({ expect }) => {
    const org = await newOrg()
    await fill(org, 1)
    const [span] = (await org.read.get(QUEUE)).body.spans
    await org.owner.delete(`/api/traces/${span.trace.id}`)
    expect((await org.read.get(QUEUE)).body).toMatchObject({ spans: [], remaining: 0 })
  })
})

describe('today’s counts', () => {
  it('count each span once per reviewer, and ignore resets', async ({ expect }) => {
    const org = await newOrg()
    const ids = (await fill(org, 3)).flatMap(({ reviewable }) => reviewable)
    const [ada, bob] = [await reviewerOf(org), await reviewerOf(org)]
    const review = (by: Client, index: number, body: object) => by.put(`/api/spans/${ids[index]}/review`, body)
    for (const index of [0, 1, 2]) await review(ada.client, index, { decision: 'accept' })
    await review(ada.client, 0, { decision: 'correct', approvedOutput: 1 })
    await review(bob.client, 3, { decision: 'accept' })
    await review(bob.client, 4, { decision: 'reset' })
    const { today, remaining } = (await org.read.get(QUEUE)).body
    expect(today).toEqual([
      { userId: ada.userId, reviewed: 3 },
      { userId: bob.userId, reviewed: 1 },
    ])
    expect(remaining).toBe(2)
  })

  it('cover only the requested project', async ({ expect }) => {
    const org = await newOrg()
    const [id] = (await fill(org, 1)).flatMap(({ reviewable }) => reviewable)
    await org.owner.put(`/api/spans/${id}/review`, { decision: 'accept' })
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    expect((await org.read.get('/api/review-queue?projectSlug=other')).body.today).toEqual([])
  })
})

describe('a claim', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  async function claimable(count = 1) {
    const org = await newOrg()
    const ids = (await fill(org, Math.ceil(count / 2))).flatMap(({ reviewable }) => reviewable)
    const [ada, bob] = [await reviewerOf(org), await reviewerOf(org)]
    const call =
      (verb: string) =>
      async (by: Client, spanIds: readonly string[] = ids) =>
        (await by.post(`/api/review-queue/${verb}`, { spanIds })).body
    return { org, ids, ada, bob, claim: call('claim'), heartbeat: call('heartbeat'), release: call('release') }
  }

  it('hides a span from other reviewers but not from its holder', async ({ expect }) => {
    const { ids, ada, bob, claim } = await claimable()
    const [first, second] = ids
    expect(await claim(ada.client, [first ?? ''])).toEqual({ claimed: [first], refused: [] })
    expect(idsOf((await ada.client.get(QUEUE)).body.spans)).toEqual([first, second])
    const { body } = await bob.client.get(QUEUE)
    expect(idsOf(body.spans)).toEqual([second])
    expect(body.remaining).toBe(1)
    expect(await claim(bob.client)).toEqual({ claimed: [second], refused: [first] })
    expect(await claim(ada.client)).toEqual({ claimed: [first], refused: [second] })
  })

  it("belongs to the user, no matter which of the user's keys is used", async ({ expect }) => {
    const { org, ids, ada, claim, heartbeat } = await claimable()
    await claim(ada.client)
    const second = org.clientOf(await org.keyFor({ userId: ada.userId }))
    expect(await heartbeat(second)).toEqual({ held: ids, lost: [] })
    // Claims by a key without a user belong to the key.
    expect(await claim(org.clientOf(await org.keyFor({})))).toEqual({ claimed: [], refused: ids })
  })

  it('ends after 15 minutes unless it is renewed', async ({ expect }) => {
    const { ids, ada, bob, claim, heartbeat } = await claimable()
    vi.useFakeTimers({ toFake: ['Date'] })
    const start = Date.now()
    await claim(ada.client)
    vi.setSystemTime(start + CLAIM_MS - 1)
    expect(await claim(bob.client)).toEqual({ claimed: [], refused: ids })
    expect(await heartbeat(ada.client)).toEqual({ held: ids, lost: [] })
    vi.setSystemTime(start + 2 * CLAIM_MS - 2)
    expect(await claim(bob.client)).toEqual({ claimed: [], refused: ids })
    vi.setSystemTime(start + 2 * CLAIM_MS)
    expect(await heartbeat(ada.client)).toEqual({ held: [], lost: ids })
    expect(idsOf((await bob.client.get(QUEUE)).body.spans)).toEqual(ids)
    expect(await claim(bob.client)).toEqual({ claimed: ids, refused: [] })
    expect(await claim(ada.client)).toEqual({ claimed: [], refused: ids })
  })

  it('ends when its holder releases it', async ({ expect }) => {
    const { ids, ada, bob, claim, release } = await claimable()
    await claim(ada.client)
    expect(await release(bob.client)).toEqual({ released: [] })
    expect(await release(ada.client)).toEqual({ released: ids })
    expect(await claim(bob.client)).toEqual({ claimed: ids, refused: [] })
  })

  it('ends when anyone reviews the span', async ({ expect }) => {
    const { ids, ada, bob, claim, heartbeat } = await claimable()
    const [first = '', second = ''] = ids
    await claim(ada.client)
    await ada.client.put(`/api/spans/${first}/review`, { decision: 'accept' })
    await bob.client.put(`/api/spans/${second}/review`, { decision: 'accept', takeOver: true })
    expect(await heartbeat(ada.client)).toEqual({ held: [], lost: ids })
    expect(await claim(ada.client)).toEqual({ claimed: [], refused: ids })
    await bob.client.put(`/api/spans/${second}/review`, { decision: 'reset' })
    expect(await claim(bob.client)).toEqual({ claimed: [second], refused: [first] })
  })

  it('rejects a decision by someone else, and reports who holds the claim and until when', async ({ expect }) => {
    const { org, ids, ada, bob, claim } = await claimable()
    const [first = '', second = ''] = ids
    vi.useFakeTimers({ toFake: ['Date'] })
    const start = Date.now()
    await claim(ada.client)
    const held = { error: HELD, code: 'conflict', heldBy: ada.userId, until: new Date(start + CLAIM_MS).toISOString() }
    for (const body of [
      { decision: 'accept' },
      { decision: 'accept', force: true },
      { decision: 'correct', approvedOutput: 1 },
      { decision: 'reset' },
    ]) {
      const before = await storedCounts()
      const response = await bob.client.put(`/api/spans/${first}/review`, body)
      expect(response.status).toBe(409)
      expect(response.body).toMatchObject(held)
      expect(await storedCounts()).toEqual(before)
    }
    const reviews = [
      { spanId: first, decision: 'accept' },
      { spanId: second, decision: 'accept', takeOver: true },
    ]
    const { results } = (await bob.client.post('/api/reviews', { reviews })).body
    expect(results).toMatchObject([
      { status: 409, body: held },
      { status: 200, body: { review: { by: bob.userId } } },
    ])
    // Any of the user's keys may decide.
    const own = org.clientOf(await org.keyFor({ userId: ada.userId }))
    expect((await own.put(`/api/spans/${first}/review`, { decision: 'accept' })).status).toBe(200)
  })

  it('is shown to everyone who reads the span, and changes nothing else about the span', async ({ expect }) => {
    const { org, ids, ada, bob, claim, release } = await claimable()
    const [first = '', second = ''] = ids
    const read = async () => {
      const { body: span } = await bob.client.get(`/api/spans/${first}`)
      const { body: trace } = await bob.client.get(`/api/traces/${span.trace.id}`)
      const inTrace = trace.spans.find(({ id }: Queued) => id === first)
      const { claim: other } = trace.spans.find(({ id }: Queued) => id === second)
      return { span, claims: [span.claim, inTrace.claim], other, updatedAt: trace.updatedAt, etag: span.etag }
    }
    vi.useFakeTimers({ toFake: ['Date'] })
    const start = Date.now()
    const before = await read()
    expect(before.claims).toEqual([null, null])
    await claim(ada.client, [first])
    const held = { heldBy: ada.userId, until: new Date(start + CLAIM_MS).toISOString() }
    expect(await read()).toEqual({ ...before, claims: [held, held], span: { ...before.span, claim: held } })
    const list = '/api/spans?projectSlug=support&payloads=preview'
    const { body } = await bob.client.get(list)
    expect(body.spans.find(({ id }: Queued) => id === first).claim).toEqual(held)
    expect((await ada.client.get(QUEUE)).body.spans[0].claim).toEqual(held)
    const key = org.clientOf(await org.keyFor({}))
    await claim(key, [second])
    expect((await read()).other.heldBy).toBe((await key.get('/api/session')).body.actorId)
    vi.setSystemTime(start + CLAIM_MS - 1)
    expect((await read()).claims).toEqual([held, held])
    vi.setSystemTime(start + CLAIM_MS)
    expect(await read()).toEqual(before)
    await claim(ada.client, [first])
    await release(ada.client, [first])
    expect((await read()).claims).toEqual([null, null])
    await claim(ada.client, [first])
    const decided = await bob.client.put(`/api/spans/${first}/review`, { decision: 'accept', takeOver: true })
    expect(decided.body.claim).toBeNull()
    expect((await read()).claims).toEqual([null, null])
  })

  it('blocks other reviewers until it ends, and then a repeated decision is recorded once', async ({ expect }) => {
    const { ids, ada, bob, claim } = await claimable()
    const [first = ''] = ids
    vi.useFakeTimers({ toFake: ['Date'] })
    const start = Date.now()
    await claim(ada.client)
    const accept = (by: Client) => by.put(`/api/spans/${first}/review`, { decision: 'accept' })
    vi.setSystemTime(start + CLAIM_MS - 1)
    expect((await accept(bob.client)).status).toBe(409)
    vi.setSystemTime(start + CLAIM_MS)
    expect((await accept(bob.client)).status).toBe(200)
    expect((await accept(bob.client)).status).toBe(200)
    expect((await bob.client.get(`/api/spans/${first}/reviews`)).body.reviews).toHaveLength(1)
  })

  it('rejects a decision if the claim begins between its reads and its writes', async ({ expect }) => {
    const { org, ids, ada, bob, claim } = await claimable()
    const [first = ''] = ids
    let isClaimed = false
    // Claims the span between a decision's reads and its writes.
    const bindings = wrapBindings(async (binding, call) => {
      const result = await call()
      if (binding === 'DB' && isReading && !isClaimed) {
        isClaimed = true
        await claim(ada.client, [first])
      }
      return result
    })
    let isReading = false
    const late = org.clientOf(bob.key, bindings)
    await late.get(QUEUE)
    isReading = true
    const response = await late.put(`/api/spans/${first}/review`, { decision: 'accept' })
    expect(response.status).toBe(409)
    expect(response.body.heldBy).toBe(ada.userId)
    expect((await bob.client.get(`/api/spans/${first}/reviews`)).body.reviews).toEqual([])
  })

  it('is rejected for a span without an output, an unknown span, and another tenant’s or project’s span', async ({
    expect,
  }) => {
    const { org, ada, claim } = await claimable()
    const [trace] = await fill(org, 1)
    const withoutOutput = trace?.spans[2]?.span_id ?? ''
    const [foreign] = (await fill(await newOrg(), 1)).flatMap(({ reviewable }) => reviewable)
    const unclaimable = [withoutOutput, crypto.randomUUID(), foreign ?? '']
    expect(await claim(ada.client, unclaimable)).toEqual({ claimed: [], refused: unclaimable })
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    expect(await claim(other, trace?.reviewable)).toEqual({ claimed: [], refused: trace?.reviewable })
  })

  it('is granted to only one of 20 concurrent reviewers', async ({ expect }) => {
    const { org, ids, claim, heartbeat } = await claimable(10)
    const reviewers = await Promise.all(Array.from({ length: 20 }, () => reviewerOf(org)))
    // Each reviewer repeatedly claims a few spans in a different order.
    const held = new Map<string, string>()
    for (let round = 0; round < 3; round++) {
      const results = await Promise.all(
        reviewers.map(async ({ client, userId }) => {
          const wanted = ids.toSorted(() => Math.random() - 0.5).slice(0, 4)
          return { userId, ...(await claim(client, wanted)) }
        }),
      )
      for (const { userId, claimed, refused } of results) {
        for (const id of claimed) {
          expect(held.get(id) ?? userId).toBe(userId)
          held.set(id, userId)
        }
        for (const id of refused) expect(held.get(id)).not.toBe(userId)
      }
    }
    expect(held.size).toBe(ids.length)
    const owners = await Promise.all(reviewers.map(async ({ client }) => (await heartbeat(client)).held))
    expect(owners.flat().toSorted()).toEqual(ids.toSorted())
    // Each reviewer's queue has only the spans that the reviewer holds.
    for (const { userId, client } of reviewers) {
      const own = [...held].flatMap(([id, holder]) => (holder === userId ? [id] : []))
      const seen = idsOf((await client.get(QUEUE)).body.spans)
      expect(seen.toSorted()).toEqual(own.toSorted())
    }
  })

  it.skipIf(isSharded)('takes one round trip, even for many spans', async ({ expect }) => {
    const { org, ids, ada, claim } = await claimable(40)
    await claim(ada.client, [])
    const { bindings, counts } = countingBindings()
    await org.clientOf(ada.key, bindings).post('/api/review-queue/claim', { spanIds: ids })
    expect(counts).toMatchObject({ d1RoundTrips: 1, rowsWritten: ids.length })
  })

  it.for([
    ['too many', Array.from({ length: MAX_CLAIMS + 1 }, () => crypto.randomUUID()), 'spanIds'],
    ['an invalid UUID', ['1'], 'spanIds.0'],
    ['a string', 'all', 'spanIds'],
  ] as const)('gets a 400 for %s', async ([, spanIds, path], { expect }) => {
    const { owner } = await newOrg()
    for (const verb of ['claim', 'heartbeat', 'release']) {
      const response = await owner.post(`/api/review-queue/${verb}`, { spanIds })
      expect(response.status).toBe(400)
      expect(response.body.details[0].path).toBe(path)
    }
  })
})

describe('a long queue', () => {
  it('counts up to 10,000 spans, and reports whether there are more', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id, spans } = (await fill(org, 1))[0] ?? { spans: [] }
    const template = spans[0]
    const more = (count: number) =>
      resultsOf(
        org,
        Array.from({ length: count }, () => ({
          type: 'span',
          body: { ...template, trace_id, span_id: crypto.randomUUID() },
        })),
      )
    for (let start = 2; start < MAX_REMAINING; start += 1000) await more(Math.min(1000, MAX_REMAINING - start))
    expect((await org.read.get(`${QUEUE}&limit=1`)).body).toMatchObject({
      remaining: MAX_REMAINING,
      remainingIsMinimum: false,
    })
    await more(1)
    expect((await org.read.get(`${QUEUE}&limit=1`)).body).toMatchObject({
      remaining: MAX_REMAINING,
      remainingIsMinimum: true,
    })
  })

  it('skips any number of traces that have nothing to review, in each order', { timeout: 60_000 }, async ({
    expect,
  }) => {
    const org = await newOrg()
    const ids: string[] = []
    for (let left = 3 * SHUFFLED_TRACES + 500; left > 0; left -= 10_000) {
      ids.push(...(await manyTraces(org, Math.min(left, 10_000), () => ({ name: 'no-output', fields: {} }))))
    }
    const reviewable = ids.filter((_, index) => index % 1000 === 7)
    await stored
      .prepare(
        `update spans set has_output = 1, output = '1' where (id, trace_key) in (
         select root_span_id, key from traces where deleted_at is null and id in (select value from json_each(?)))`,
      )
      .bind(JSON.stringify(reviewable))
      .run()
    for (const order of ['oldest', 'newest', 'negative', 'random']) {
      const found = await walk(org.read, `order=${order}`, 20)
      expect(found.map(({ trace }) => trace.id).toSorted(), order).toEqual(reviewable.toSorted())
    }
    const firsts = []
    for (let draw = 0; draw < 6; draw++) firsts.push((await walk(org.read, 'order=random', 20)).at(0)?.trace.id ?? '')
    // The random order includes traces of all ages, not only the newest ones.
    expect(new Set(firsts.map(id => Math.floor(ids.indexOf(id) / SHUFFLED_TRACES))).size).toBeGreaterThan(1)
  })

  it.skipIf(isSharded)('reports that its count is a minimum if it stops counting early', async ({ expect }) => {
    const org = await newOrg()
    for (let left = MAX_COUNTED_TRACES; left > 0; left -= 10_000) {
      await manyTraces(org, Math.min(left, 10_000), () => ({ name: 'no-output', fields: {} }))
    }
    expect((await org.read.get(QUEUE)).body).toMatchObject({ spans: [], remaining: 0, remainingIsMinimum: true })
  })

  it('skips reviewed spans without reading them', async ({ expect }) => {
    const org = await newOrg()
    const traces = await fill(org, 600)
    const reviews = traces
      .slice(0, -1)
      .flatMap(({ reviewable }) => reviewable.map(spanId => ({ spanId, decision: 'accept' })))
    for (let start = 0; start < reviews.length; start += 200) {
      await org.owner.post('/api/reviews', { reviews: reviews.slice(start, start + 200) })
    }
    const rows = await rowsReadBy(async bindings => {
      const { body } = await org.clientOf(org.ownerKey, bindings).get(`${QUEUE}&order=oldest`)
      expect(idsOf(body.spans)).toEqual(traces.at(-1)?.reviewable)
    })
    // Counting today's reviewers still reads today's reviews.
    expect(rows).toBeLessThan(4 * reviews.length)
  })
})
