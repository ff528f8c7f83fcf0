import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { MAX_DELETED_TRACES } from '../../src/limits.ts'
import { withMessages } from '../support/attribution.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { type Client, newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { manyTraces } from '../support/traces.ts'

const remove = async (by: Client, ids: unknown) => by.post('/api/traces/delete', { ids })

const statusesOf = async (by: Client, ids: unknown) =>
  (await remove(by, ids)).body.results.map(({ status }: { status: number }) => status)

const newTrace = async (org: Org): Promise<string> => (await org.ingest.post('/api/v1/traces', aTrace())).body.id

const listed = async (org: Org): Promise<string[]> =>
  (await org.read.get('/api/traces?projectSlug=support&kind=all&limit=200')).body.traces.map(
    ({ id }: { id: string }) => id,
  )

describe('a deletion of many traces', () => {
  it('hides exactly the given traces, and reports the result for each in order', async ({ expect }) => {
    const org = await newOrg()
    const [first, kept, last] = [await newTrace(org), await newTrace(org), await newTrace(org)]
    const { status, body } = await remove(org.owner, [last.toUpperCase(), first])
    expect({ status, body }).toEqual({
      status: 207,
      body: {
        results: [
          { status: 200, body: { id: last } },
          { status: 200, body: { id: first } },
        ],
      },
    })
    expect(await listed(org)).toEqual([kept])
    const { entries } = (await org.owner.get('/api/audit-log?action=trace.delete')).body
    expect(entries.map(({ targetId }: { targetId: string }) => targetId).toSorted()).toEqual([first, last].toSorted())
    expect(new Set(entries.map(({ requestId }: { requestId: string }) => requestId)).size).toBe(1)
  })

  it('fails only for ids that are unknown, from another organization or project, or not UUIDs', async ({ expect }) => {
    const org = await newOrg()
    const stranger = await newOrg()
    const [mine, theirs, gone] = [await newTrace(org), await newTrace(stranger), await newTrace(org)]
    await org.owner.delete(`/api/traces/${gone}`)
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    const elsewhere = (await other.post('/api/v1/traces', aTrace())).body.id
    const ids = [theirs, 'trace_1', 7, gone, elsewhere, mine, crypto.randomUUID()]
    const { results } = (await remove(org.bearer(), ids)).body
    expect(results.map(({ status }: { status: number }) => status)).toEqual([404, 400, 400, 404, 403, 200, 404])
    expect(results[1].body.details).toEqual([{ path: 'ids.1', message: 'must be a UUID' }])
    expect(results[4].body.details).toEqual([{ path: 'ids.4', message: 'This key is for another project' }])
    expect(await listed(org)).toEqual([])
    expect(await listed(stranger)).toEqual([theirs])
    expect((await org.read.get(`/api/traces/${elsewhere}`)).status).toBe(200)
    // An organization's key may delete traces in all of its projects.
    expect(await statusesOf(org.owner, [elsewhere])).toEqual([200])
  })

  it('returns the same result twice for an id that appears twice, but deletes the trace only once', async ({
    expect,
  }) => {
    const org = await newOrg()
    const id = await newTrace(org)
    const unknown = crypto.randomUUID()
    expect(await statusesOf(org.owner, [id, unknown, id, unknown])).toEqual([200, 404, 200, 404])
    expect((await org.owner.get('/api/audit-log?action=trace.delete')).body.entries).toHaveLength(1)
  })

  it(`accepts up to ${MAX_DELETED_TRACES} ids, or none`, async ({ expect }) => {
    const org = await newOrg()
    const ids = await manyTraces(org, MAX_DELETED_TRACES + 1, () => ({ name: 'a', fields: {} }))
    expect((await remove(org.owner, ids)).status).toBe(400)
    expect(await listed(org)).toHaveLength(200)
    expect(new Set(await statusesOf(org.owner, ids.slice(1)))).toEqual(new Set([200]))
    expect(await listed(org)).toEqual(ids.slice(0, 1))
    expect((await remove(org.owner, [])).body).toEqual({ results: [] })
    for (const invalid of [undefined, null, 'x', { 0: ids[0] }]) {
      expect((await remove(org.owner, invalid)).status).toBe(400)
    }
    expect(await listed(org)).toEqual(ids.slice(0, 1))
  })

  it('has the effects of single deletions: each trace is purged, and its decisions are subtracted from the counts', async ({
    expect,
  }) => {
    const fixture = await newReviewed('Yes')
    const { org, id } = fixture
    await fixture.review({ decision: 'accept' })
    const reviewed = async () => (await org.read.get('/api/insights?projectSlug=support')).body.reviewers.length
    expect(await reviewed()).toBe(1)
    const second = await newTrace(org)
    const { bindings, sent } = withMessages()
    await remove(org.clientOf(org.ownerKey, bindings), [id, second])
    expect(sent).toMatchObject([{ kind: 'purge_trace' }, { kind: 'purge_trace' }])
    for (const job of sent) await runJob(job, env)
    const keys = sent.map(job => ('traceKey' in job ? job.traceKey : 0))
    const left = await stored
      .prepare('select count(*) as n from traces where key in (?, ?)')
      .bind(...keys)
      .first()
    expect(left?.n).toBe(0)
    expect(await reviewed()).toBe(0)
  })

  it.for(['before', 'after'] as const)(
    "succeeds once if D1's response is lost %s the commit, and doesn't affect a trace that was created again",
    async (when, { expect }) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const org = await newOrg()
      const trace = aTrace()
      const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
      const other = await newTrace(org)
      const bindings = wrapBindings(failing('DB', 'D1_ERROR: Network connection lost.', 1, when))
      const by = org.clientOf(org.ownerKey, bindings)
      expect(await statusesOf(by, [id, other])).toEqual([200, 200])
      expect((await org.owner.get('/api/audit-log?action=trace.delete')).body.entries).toHaveLength(2)
      await org.ingest.post('/api/v1/traces', trace)
      expect(await listed(org)).toEqual([id])
      vi.restoreAllMocks()
    },
  )
})
