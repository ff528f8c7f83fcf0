import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { DAY_MS, MAX_FILE_ITEMS, MAX_INSIGHT_ROWS, MAX_WRITTEN_RECORDS } from '../../src/limits.ts'
import { findSubject } from '../../src/store/attribution/subject.ts'
import { databaseOf } from '../../src/store/core/store.ts'
import { storeOf } from '../support/attribution.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { itemsIn } from '../support/files.ts'
import type { Client } from '../support/org.ts'
import { anExport, anExportedSpan } from '../support/telemetry.ts'
import { manyTraces } from '../support/traces.ts'
import {
  bindings,
  enterEpoch,
  newHistory,
  newTenant,
  ONE,
  placesOf,
  prepareTwoDatabases,
  projectOf,
  type Tenant,
  TWO,
  walk,
  without,
  write,
} from '../support/two-databases.ts'

beforeAll(prepareTwoDatabases)

describe('traces in several databases', () => {
  it('are each in the database of their epoch', async () => {
    const { traces } = await newHistory()
    const places = await Promise.all(traces.map(({ id }) => placesOf(id)))
    expect(places.slice(0, 8).flat()).toEqual([ONE, ONE, ONE, ONE, TWO, TWO, TWO, TWO])
    expect(places.every(({ length }) => length === 1)).toBe(true)
  })

  it('are in every list once, in order, in pages of any size', async () => {
    const { tenant, traces } = await newHistory()
    const { api } = tenant
    const newestFirst = traces.toReversed()
    for (const { spanId } of traces.slice(2, 12)) {
      expect((await api.put(`/api/spans/${spanId}/review`, { decision: 'accept' })).status).toBe(200)
    }
    const reviewed = newestFirst.slice(2, 12).map(({ spanId }) => spanId)
    const left = [...traces.slice(0, 2), ...traces.slice(12)].map(({ spanId }) => spanId)
    const idsOf = async (path: string, list: string, limit: number, field = 'id') =>
      (await walk(api, `${path}${path.includes('?') ? '&' : '?'}${projectOf(tenant)}`, list, limit)).map(
        item => item[field],
      )
    for (const limit of [5, 200]) {
      const ids = newestFirst.map(({ id }) => id)
      expect(await idsOf('/api/traces', 'traces', limit)).toEqual(ids)
      expect(await idsOf('/api/traces?contains=answer', 'traces', limit)).toEqual(ids)
      expect(await idsOf('/api/traces?sort=duration', 'traces', limit)).toEqual(ids)
      const spanIds = newestFirst.map(({ spanId }) => spanId)
      expect(await idsOf('/api/spans?stepId=generate-answer', 'spans', limit)).toEqual(spanIds)
      expect(await idsOf('/api/spans?stepId=generate-answer&contains=answer', 'spans', limit)).toEqual(spanIds)
      expect(await idsOf('/api/spans?decision=accept', 'spans', limit)).toEqual(reviewed)
      expect(await idsOf('/api/spans?decision=accept&contains=answer', 'spans', limit)).toEqual(reviewed)
      expect(await idsOf('/api/review-queue', 'spans', limit)).toEqual(left)
      expect(await idsOf('/api/review-queue?order=newest', 'spans', limit)).toEqual(left.toReversed())
      expect((await idsOf('/api/review-queue?order=random', 'spans', limit)).toSorted()).toEqual(left.toSorted())
      expect((await idsOf('/api/review-queue?order=negative', 'spans', limit)).toSorted()).toEqual(left.toSorted())
      const log = await idsOf('/api/audit-log?action=review.accept', 'entries', limit, 'targetId')
      expect(log).toEqual(reviewed)
    }
    const { remaining } = (await api.get(`/api/review-queue?${projectOf(tenant)}`)).body
    expect(remaining).toBe(left.length)
    for (const list of ['traces', 'spans']) {
      const file = (await api.get(`/api/${list}/export?${projectOf(tenant)}&format=jsonl`)).body
      const exported = itemsIn(file).map(({ id }) => id)
      expect(exported).toEqual(
        expect.arrayContaining(newestFirst.map(each => each[list === 'traces' ? 'id' : 'spanId'])),
      )
      expect(new Set(exported).size).toBe(exported.length)
    }
    // This test makes 60 calls.
  }, 60_000)

  it('form one group, and one conversation', async () => {
    const { tenant, traces } = await newHistory()
    const { group } = traces[0] ?? {}
    for (const limit of [1, 2, 200]) {
      const groups = await walk(tenant.api, `/api/groups?${projectOf(tenant)}`, 'groups', limit)
      expect(groups.map(({ value, traces, tracesIsMinimum }) => [value, traces, tracesIsMinimum]).toSorted()).toEqual(
        Array.from(
          Map.groupBy(traces, trace => trace.group),
          ([value, own]) => [value, own.length, expect.any(Boolean)],
        ).toSorted(),
      )
      const inGroup = traces.filter(trace => trace.group === group).map(({ id }) => id)
      const turns = (order: string) =>
        walk(
          tenant.api,
          `/api/groups/turns?${projectOf(tenant)}&value=${group}&order=${order}`,
          'turns',
          Math.min(limit, 50),
        )
      expect((await turns('oldest')).map(({ id }) => id)).toEqual(inGroup)
      expect((await turns('newest')).map(({ id }) => id)).toEqual(inGroup.toReversed())
    }
  })

  it('keep their place in a list when an epoch begins between two pages', async () => {
    const { tenant, traces } = await newHistory()
    const path = `/api/traces?${projectOf(tenant)}`
    const first = (await tenant.api.get(`${path}&limit=5`)).body
    await enterEpoch(tenant, [TWO])
    await write(tenant, 'newer')
    const rest = (await tenant.api.get(`${path}&cursor=${first.nextCursor}`)).body
    const listed = [...first.traces, ...rest.traces].map(({ id }: { id: string }) => id)
    expect(listed).toEqual(traces.map(({ id }) => id).toReversed())
  })

  it('are each in exactly one file of an export when an epoch begins between two files', async () => {
    const tenant = await newTenant([ONE])
    await manyTraces(tenant.org, MAX_FILE_ITEMS + 50, () => ({ name: 'many', fields: {} }), databaseOf(bindings, ONE))
    const path = `/api/traces/export?${projectOf(tenant)}&format=jsonl`
    const first = await tenant.api.get(path)
    await enterEpoch(tenant, [TWO])
    await manyTraces(tenant.org, 10, () => ({ name: 'older', fields: {} }), databaseOf(bindings, TWO))
    const rest = await tenant.api.get(`${path}&cursor=${first.headers.get('x-next-cursor')}`)
    const items = [first, rest].flatMap(({ body }) => itemsIn(body))
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length)
    expect(items.filter(({ name }) => name === 'many')).toHaveLength(MAX_FILE_ITEMS + 50)
    expect(items.filter(({ name }) => name === 'older')).toHaveLength(10)
    expect(rest.headers.get('x-next-cursor')).toBeNull()
  })

  it('are summed in insights, even if each database has as many rows as a response may contain', async () => {
    const tenant = await newTenant([ONE, TWO])
    const userId = crypto.randomUUID()
    const insertDays = (shard: number, apart: number) =>
      databaseOf(bindings, shard)
        .prepare(
          `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?1)
           insert into review_days (project_key, day, step_id, prompt_version_id, user_id, error_type, accepted, corrected)
           select (select key from projects where id = ?2), ?3, printf('step-%06d', i * ?4), '', ?5, '', 1, 0 from n`,
        )
        .bind(MAX_INSIGHT_ROWS, tenant.org.project.id, Math.floor(Date.now() / DAY_MS), apart, userId)
        .run()
    await insertDays(ONE, 2)
    await insertDays(TWO, 1)
    const { days } = (await tenant.api.get(`/api/insights?${projectOf(tenant)}`)).body
    expect(days.map((day: { stepId: string; accepted: number }) => [day.stepId, day.accepted])).toEqual(
      Array.from({ length: MAX_INSIGHT_ROWS }, (_, index) => [
        `step-${String(index).padStart(6, '0')}`,
        index % 2 === 0 ? 2 : 1,
      ]),
    )
  })

  it('are found by id and changed in their own database', async () => {
    const { tenant, traces } = await newHistory()
    const { api, org } = tenant
    for (const { id, traceId, spanId } of [traces[0], traces[5], traces[12]].flatMap(each => each ?? [])) {
      expect((await api.get(`/api/traces/${id}`)).body.id).toBe(id)
      expect((await api.get(`/api/traces/${traceId}?${projectOf(tenant)}`)).body.id).toBe(id)
      expect((await api.get(`/api/spans/${spanId}`)).body.trace.id).toBe(id)
      expect((await api.get(`/api/spans/${spanId}/sources`)).status).toBe(200)
      const { body: comment } = await api.post(`/api/spans/${spanId}/feedback`, { content: 'Why?' })
      expect((await api.patch(`/api/feedback/${comment.id}`, { content: 'How?' })).body.content).toBe('How?')
      expect((await api.delete(`/api/feedback/${comment.id}`)).status).toBe(200)
      expect((await api.patch(`/api/feedback/${comment.id}`, { content: 'How?' })).status).toBe(404)
    }
    const stranger = await newTenant([ONE, TWO])
    for (const { spanId } of [traces[0], traces[5]].flatMap(each => each ?? [])) {
      expect((await stranger.api.get(`/api/spans/${spanId}`)).status).toBe(403)
    }
    expect((await api.get(`/api/spans/${org.project.id}`)).status).toBe(404)
  })

  it('are changed in bulk, with the results in the order of the request', async () => {
    const { tenant, traces } = await newHistory()
    const { api } = tenant
    const spanIds = [9, 1, 6, 0, 5].flatMap(index => traces[index]?.spanId ?? [])
    const unknown = crypto.randomUUID()
    const claims = (await api.post('/api/review-queue/claim', { spanIds: [...spanIds, unknown] })).body
    expect(claims).toEqual({ claimed: spanIds, refused: [unknown] })
    expect((await api.post('/api/review-queue/heartbeat', { spanIds })).body).toEqual({ held: spanIds, lost: [] })
    expect((await api.post('/api/review-queue/release', { spanIds })).body).toEqual({ released: spanIds })
    const decisions = [...spanIds, unknown].map(spanId => ({ spanId, decision: 'accept' }))
    const { results } = (await api.post('/api/reviews', { reviews: decisions })).body
    expect(results.map(({ status, body }: Result) => [status, body.id])).toEqual([
      ...spanIds.map(id => [200, id]),
      [404, undefined],
    ])
  })

  it('are assigned evenly, whichever databases they are in', async () => {
    const { tenant, traces } = await newHistory()
    const users = await Promise.all(
      ['a', 'b'].map(
        async name => (await tenant.api.post('/api/users', { email: `${name}@example.com`, name })).body.id,
      ),
    )
    const assign = { filter: { projectId: tenant.org.project.id }, userIds: users }
    const { body } = await tenant.api.post('/api/review-queue/assign', assign)
    expect(body).toMatchObject({ assigned: users.map(userId => ({ userId, spans: traces.length / 2 })), short: 0 })
    const { people } = (await tenant.api.get(`/api/review-queue/progress?${projectOf(tenant)}`)).body
    expect(people.map(({ open }: { open: number }) => open)).toEqual([traces.length / 2, traces.length / 2])
    const again = (await tenant.api.post('/api/review-queue/assign', assign)).body
    expect(again.assigned).toEqual(users.map(userId => ({ userId, spans: 0 })))
  })

  it('have one dataset item for each span id, from the newest trace', async () => {
    const tenant = await newTenant([ONE])
    const spanId = crypto.randomUUID()
    const written = []
    for (const shard of [ONE, TWO]) {
      await enterEpoch(tenant, [shard])
      const { traceId } = await write(tenant)
      const span = aSpan({ span_id: spanId, trace_id: traceId, step_id: 'repeated', output: { answer: traceId } })
      await tenant.pipeline.post('/api/v1/spans', span)
      expect((await tenant.api.put(`/api/spans/${spanId}/review`, { decision: 'accept' })).status).toBe(200)
      written.push(traceId)
    }
    const { datasets } = (await tenant.api.get(`/api/datasets?${projectOf(tenant)}`)).body
    const { id } = datasets.find((each: { stepId: string }) => each.stepId === 'repeated')
    const listed = await walk(tenant.api, `/api/datasets/${id}/items?`, 'items', 1)
    expect(listed.map(item => [item.id, item.expected])).toEqual([[spanId, [{ answer: written.at(-1) }]]])
    const file = itemsIn((await tenant.api.get(`/api/datasets/${id}/export?format=jsonl`)).body)
    expect(file.map(item => item.id)).toEqual([spanId])
  })

  it('are all found if their project never used DB', async () => {
    const tenant = await newTenant([TWO])
    const { api, org } = tenant
    const { body: prompt } = await api.post('/api/prompts', {
      projectSlug: org.project.slug,
      stepId: 'generate-answer',
      content: 'Answer.',
    })
    const { traceId } = await write(tenant)
    const span = aSpan({ trace_id: traceId, output: { answer: 1 }, prompt_version_id: prompt.versionId })
    await tenant.pipeline.post('/api/v1/spans', span)
    const review = { decision: 'correct', approvedOutput: { answer: 2 }, errorType: 'reasoning_error' }
    expect((await api.put(`/api/spans/${span.span_id}/review`, review)).status).toBe(200)
    const { groups } = (await api.get(`/api/groups?${projectOf(tenant)}`)).body
    expect(groups).toMatchObject([{ traces: 1 }])
    const { problems } = (await api.get(`/api/problems?${projectOf(tenant)}`)).body
    expect(problems).toMatchObject([{ errorType: 'reasoning_error', count: 1, examples: [span.span_id] }])
    const { versions } = (await api.get(`/api/prompts/${prompt.id}`)).body
    expect(versions).toMatchObject([{ corrected: 1 }])
  })

  it('are deleted from their own databases', async () => {
    const { tenant, traces } = await newHistory()
    const [first, ...others] = [traces[0], traces[5], traces[10], traces[1]].flatMap(each => each?.id ?? [])
    expect((await tenant.api.delete(`/api/traces/${first}`)).status).toBe(200)
    const ids = [...others, crypto.randomUUID()]
    const { results } = (await tenant.api.post('/api/traces/delete', { ids })).body
    expect(results.map(({ status }: Result) => status)).toEqual([200, 200, 200, 404])
    for (const id of [first ?? '', ...others]) {
      expect(await placesOf(id)).toEqual([])
      expect((await tenant.api.get(`/api/traces/${id}`)).status).toBe(404)
    }
    expect(await walk(tenant.api, `/api/traces?${projectOf(tenant)}`, 'traces', 200)).toHaveLength(traces.length - 4)
  })
})

interface Result {
  status: number
  body: { id?: string }
}

/** A history, and a client that has all rights in its project but gets no response from the second database. */
async function newOutage() {
  const { tenant, traces } = await newHistory()
  const key = await tenant.org.keyFor({})
  // The key is looked up once, before the database fails.
  const healthy = tenant.org.clientOf(key, bindings)
  await healthy.get('/api/session')
  const places = new Map(await Promise.all(traces.map(async ({ id }) => [id, (await placesOf(id))[0]] as const)))
  const isReachable = ({ id }: { id: string }) => places.get(id) === ONE
  return { tenant, traces, healthy, api: tenant.org.clientOf(key, without(TWO)), isReachable }
}

describe('a database that does not respond', () => {
  it('hides only its own traces, and is named in the response', async () => {
    const { tenant, traces } = await newHistory()
    const key = await tenant.org.keyFor({ projectSlug: undefined })
    // The key is looked up once, before the database fails.
    await tenant.org.clientOf(key, bindings).get('/api/session')
    const api = tenant.org.clientOf(key, without(TWO))
    const places = new Map(await Promise.all(traces.map(async ({ id }) => [id, (await placesOf(id))[0]] as const)))
    const reachable = traces.filter(({ id }) => places.get(id) === ONE)
    const listed = await api.get(`/api/traces?${projectOf(tenant)}`)
    expect(listed.body.traces.map(({ id }: { id: string }) => id)).toEqual(reachable.map(({ id }) => id).toReversed())
    expect(listed.headers.get('x-missing-shards')).toBe(String(TWO))
    for (const path of ['/api/spans?', '/api/review-queue?', '/api/groups?', '/api/audit-log?']) {
      const { status, headers } = await api.get(`${path}${projectOf(tenant)}`)
      expect([path, status, headers.get('x-missing-shards')]).toEqual([path, 200, String(TWO)])
    }
    for (const { id, spanId } of [traces[0], traces[5]].flatMap(each => each ?? [])) {
      const isReachable = places.get(id) === ONE
      expect((await api.get(`/api/spans/${spanId}`)).status).toBe(isReachable ? 200 : 503)
    }
    // An export must fail, because a file with missing traces would look complete.
    expect((await api.get(`/api/traces/export?${projectOf(tenant)}&format=jsonl`)).status).toBe(503)
    const complete = await tenant.api.get(`/api/traces?${projectOf(tenant)}`)
    expect(complete.headers.has('x-missing-shards')).toBe(false)
  })

  it('fails only the events of its own traces in a batch', async () => {
    const { traces, healthy, api, isReachable } = await newOutage()
    const events = traces.map(({ traceId }) => {
      return { type: 'feedback', body: aFeedback({ trace_id: traceId, feedback_id: traceId }) }
    })
    const sent = await api.post('/api/v1/batch', { events })
    expect(sent.status).toBe(207)
    const statuses = sent.body.results.map(({ status }: Result) => status)
    expect(statuses).toEqual(traces.map(each => (isReachable(each) ? 201 : 503)))
    const again = (await healthy.post('/api/v1/batch', { events })).body.results
    expect(again.map(({ status }: Result) => status)).toEqual(traces.map(each => (isReachable(each) ? 200 : 201)))
  })

  it('does not keep traces in the same export from reaching the other databases', async () => {
    const { tenant, healthy, api } = await newOutage()
    const hexId = () => crypto.randomUUID().replaceAll('-', '')
    const traceIds = Array.from({ length: 16 }, hexId)
    const large = hexId()
    // Half of these spans come after the maximum number of records that are written together.
    const spansOf = () => {
      const spans = traceIds.map(traceId => anExportedSpan({ traceId, name: 'exported' }))
      const others = Array.from({ length: MAX_WRITTEN_RECORDS }, () =>
        anExportedSpan({ traceId: large, name: 'other' }),
      )
      return [...spans.slice(8), ...others, ...spans.slice(0, 8)]
    }
    const spanCounts = async () => {
      const { traces } = (await healthy.get(`/api/traces?${projectOf(tenant)}&name=exported`)).body
      return new Map<string, number>(
        traces.map(({ id, spanCount }: { id: string; spanCount: number }) => [id, spanCount]),
      )
    }
    const send = (to: Client) => to.post('/v1/traces', anExport(spansOf()))
    expect((await send(healthy)).status).toBe(200)
    const before = await spanCounts()
    // Exporters retry failed exports.
    expect((await send(api)).status).toBe(503)
    const after = await spanCounts()
    for (const [id, count] of before) {
      expect(after.get(id)).toBe((await placesOf(id))[0] === ONE ? count + 1 : count)
    }
    expect(before.size).toBe(16)
  })

  it('fails only the deletions of its own traces and the decisions on them', async () => {
    const { traces, api, isReachable } = await newOutage()
    const expected = traces.map(each => (isReachable(each) ? 200 : 503))
    const reviews = traces.map(({ spanId }) => ({ spanId, decision: 'accept' }))
    const decided = (await api.post('/api/reviews', { reviews })).body.results
    expect(decided.map(({ status }: Result) => status)).toEqual(expected)
    const deleted = (await api.post('/api/traces/delete', { ids: traces.map(({ id }) => id) })).body.results
    expect(deleted.map(({ status }: Result) => status)).toEqual(expected)
  })

  it('keeps its decisions from being compared in an analysis, and the analysis says so', async () => {
    const tenant = await newTenant([ONE])
    const earlier = await write(tenant)
    await tenant.api.put(`/api/spans/${earlier.spanId}/review`, { decision: 'accept' })
    await enterEpoch(tenant, [TWO])
    const { id } = await write(tenant)
    const traceKey = await databaseOf(bindings, TWO)
      .prepare('select key from traces where id = ?')
      .bind(id)
      .first('key')
    const analyzed = async (using: Env) => {
      const subject = await findSubject((await storeOf(tenant.org, using)).in(TWO), Number(traceKey))
      return { omitted: subject?.omitted, precedents: subject?.steps[1]?.precedents.map(({ spanId }) => spanId) }
    }
    expect(await analyzed(bindings)).toEqual({ omitted: [], precedents: [earlier.spanId] })
    const omitted = ["earlier decisions in 1 of 2 databases, which didn't respond"]
    expect(await analyzed(without(ONE))).toEqual({ omitted, precedents: [] })
  })

  it('does not keep the claims in other databases from being released', async () => {
    const { traces, healthy, api, isReachable } = await newOutage()
    const spanIds = traces.map(({ spanId }) => spanId)
    await healthy.post('/api/review-queue/claim', { spanIds })
    expect((await api.post('/api/review-queue/release', { spanIds })).status).toBe(503)
    const held = (await healthy.post('/api/review-queue/heartbeat', { spanIds })).body
    expect(held.lost).toEqual(traces.filter(isReachable).map(({ spanId }) => spanId))
  })
})

describe('a trace that is created just as an epoch begins', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  /**
   * A tenant whose epoch begins `laterMs` from now by the databases' clocks. The Worker's clock is `clockMs` past that
   * time.
   */
  async function newBegin(laterMs: number, clockMs: number): Promise<{ tenant: Tenant; from: number }> {
    const tenant = await newTenant([ONE])
    const from = Date.now() + laterMs
    await enterEpoch(tenant, [TWO], from)
    vi.useFakeTimers({ toFake: ['Date'], now: from + clockMs })
    return { tenant, from }
  }

  const post = ({ pipeline }: Tenant, trace: ReturnType<typeof aTrace>) => pipeline.post('/api/v1/traces', trace)

  it("is in one database, even if the Worker's clock is behind", async () => {
    const { tenant, from } = await newBegin(-1000, -10)
    const trace = aTrace({ status: 'running' })
    const exported = anExport([anExportedSpan()])
    expect((await post(tenant, trace)).status).toBe(503)
    expect((await tenant.pipeline.post('/v1/traces', exported)).status).toBe(503)
    vi.useRealTimers()
    const { status, body } = await post(tenant, trace)
    expect([status, await placesOf(body.id)]).toEqual([202, [TWO]])
    expect((await tenant.pipeline.post('/v1/traces', exported)).status).toBe(200)
    // Another server's clock is still behind.
    vi.useFakeTimers({ toFake: ['Date'], now: from - 10 })
    const { trace_id } = trace
    expect((await tenant.pipeline.post('/api/v1/observations', anObservation({ trace_id }))).status).toBe(201)
    expect((await post(tenant, { ...trace, status: 'completed' })).status).toBe(202)
    expect(await placesOf(body.id)).toEqual([TWO])
  })

  it("is in one database, even if the Worker's clock is ahead", async () => {
    const { tenant, from } = await newBegin(3_600_000, 10)
    const trace = aTrace({ status: 'running' })
    expect((await post(tenant, trace)).status).toBe(503)
    vi.useRealTimers()
    const { status, body } = await post(tenant, trace)
    expect([status, await placesOf(body.id)]).toEqual([202, [ONE]])
    // After the epoch begins, the trace is still found in that database, and is completed there.
    vi.useFakeTimers({ toFake: ['Date'], now: from + 10 })
    expect((await post(tenant, { ...trace, status: 'completed' })).status).toBe(202)
    expect((await tenant.api.get(`/api/traces/${body.id}`)).body.status).toBe('completed')
    expect(await placesOf(body.id)).toEqual([ONE])
  })
})
