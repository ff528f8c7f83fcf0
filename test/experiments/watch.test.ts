import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { withoutQueue } from '../support/attribution.ts'
import { jobPlace, stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'
import { newWatched, WATCHED_STEP } from '../support/watched.ts'

const looksOf = async (promptId: string) =>
  (
    await env.DB.prepare(
      `select l.* from watch_looks l join versioned_texts t on t.key = l.text_key where t.id = ? order by l.activated_at, l.look`,
    )
      .bind(promptId)
      .all()
  ).results

/** Deletes a span's trace and purges it. */
async function purgeTraceOf(org: { owner: { delete: (path: string) => Promise<unknown> } }, spanId: string) {
  const row = await stored
    .prepare('select t.id, t.key, t.organization_key from spans s join traces t on t.key = s.trace_key where s.id = ?')
    .bind(spanId)
    .first<{ id: string; key: number; organization_key: number }>()
  if (!row) throw new Error('no such span')
  const place = await jobPlace(row.key)
  await org.owner.delete(`/api/traces/${row.id}`)
  await runJob({ kind: 'purge_trace', organizationKey: row.organization_key, traceKey: row.key, ...place }, env)
}

describe("a prompt's watch", () => {
  it('is null until a second version is active', async ({ expect }) => {
    const { watch, decided, firstId, addVersion } = await newWatched()
    await decided(firstId, 1, 1)
    expect(await watch()).toBeNull()
    await addVersion()
    expect(await watch()).toBeNull()
  })

  it('compares the new version with the previous one once it has 20 decisions', async ({ expect }) => {
    const { watch, decided, firstId, replace, promptId } = await newWatched()
    const versionId = await replace(10, 20, firstId)
    const before = { n: 30, accepted: 10 }
    const common = { versionId, versionNumber: 2, previousVersionId: firstId, previousVersionNumber: 1, before }
    expect(await watch()).toMatchObject({ ...common, state: 'too_early', after: { n: 0, accepted: 0 }, nextLook: 20 })
    await decided(versionId, 18, 1)
    const early = { ...common, state: 'too_early', p: null, interval: null, looks: [], decided: 19 }
    expect(await watch()).toMatchObject({ ...early, after: { n: 19, accepted: 18 } })
    expect(await looksOf(promptId)).toEqual([])
    await decided(versionId, 1, 0)
    const watched = await watch()
    expect(watched).toMatchObject({
      ...common,
      state: 'better',
      after: { n: 20, accepted: 19 },
      decided: 20,
      nextLook: 40,
      looks: [{ state: 'better', before, after: { n: 20, accepted: 19 } }],
    })
    expect(watched.p).toBeLessThan(0.05)
    expect(watched.interval.low).toBeGreaterThan(0)
    expect(watched.interval.high).toBeLessThan(1)
  })

  it('keeps what the last look showed until the next look', async ({ expect }) => {
    const { watch, decided, firstId, replace } = await newWatched()
    const versionId = await replace(30, 0, firstId)
    await decided(versionId, 20, 0)
    await decided(versionId, 0, 19)
    const between = { state: 'no_difference', after: { n: 20, accepted: 20 }, decided: 39, nextLook: 40 }
    expect(await watch()).toMatchObject(between)
    await decided(versionId, 0, 1)
    expect(await watch()).toMatchObject({ state: 'worse', after: { n: 40, accepted: 20 }, nextLook: 80 })
    expect((await watch()).looks.map(({ state }: { state: string }) => state)).toEqual(['no_difference', 'worse'])
  })

  it('takes every look that one call reaches, up to 320 decisions on either side', async ({ expect }) => {
    const { watch, accept, correct, produce, firstId, replace } = await newWatched()
    const versionId = await replace(200, 130, firstId)
    const outputs = await produce(versionId, 330)
    // Decisions are counted in chronological order, so the last 10 are left out.
    await accept(outputs.slice(0, 100))
    await correct(outputs.slice(100, 300))
    await accept(outputs.slice(300))
    const watched = await watch()
    expect(watched).toMatchObject({
      state: 'worse',
      before: { n: 320 },
      after: { n: 320 },
      decided: 320,
      nextLook: null,
    })
    expect(watched.after.accepted).toBe(120)
    expect(watched.before.accepted).toBe(190)
    expect(watched.looks.map(({ after }: { after: { n: number } }) => after.n)).toEqual([20, 40, 80, 160, 320])
    expect(watched.looks.map(({ after }: { after: { accepted: number } }) => after.accepted)).toEqual([
      20, 40, 80, 100, 120,
    ])
  })

  it('counts the newest decisions on the previous version, up to the look', async ({ expect }) => {
    const { watch, decided, produce, correct, firstId, replace } = await newWatched()
    const backlog = (versionId: string) => produce(versionId, 5)
    const late = await backlog(firstId)
    const later = await backlog(firstId)
    const versionId = await replace(20, 0, firstId)
    await correct(late)
    await decided(versionId, 20, 0)
    expect(await watch()).toMatchObject({ before: { n: 25, accepted: 20 } })
    // These decisions come after the look.
    await correct(later)
    expect(await watch()).toMatchObject({ before: { n: 25, accepted: 20 } })
  })

  it("counts a span's first decision, no matter who decides", async ({ expect }) => {
    const { watch, produce, accept, correct, decide, firstId, replace, org } = await newWatched()
    const versionId = await replace(5, 5, firstId)
    const outputs = await produce(versionId, 3)
    await correct(outputs.slice(0, 2))
    // The first decision counts. Here, a correction is followed by somebody else's decision.
    const { client } = await reviewerOf(org)
    await decide(outputs.slice(0, 2), { decision: 'correct', approvedOutput: 'Yes' }, client)
    await accept(outputs.slice(2))
    await correct(outputs.slice(2))
    expect(await watch()).toMatchObject({ after: { n: 3, accepted: 1 } })
  })

  it("doesn't count a decision that the next one resets, but counts one that is reset later", async ({ expect }) => {
    const { watch, produce, accept, correct, reset, firstId, replace } = await newWatched()
    const versionId = await replace(5, 5, firstId)
    const outputs = await produce(versionId, 4)
    const [undone = '', redone = '', later = '', staleless = ''] = outputs
    await accept(outputs)
    await reset([undone, redone])
    expect(await watch()).toMatchObject({ after: { n: 2, accepted: 2 } })
    await correct([redone])
    expect(await watch()).toMatchObject({ after: { n: 3, accepted: 2 } })
    await correct([later, staleless])
    await reset([later])
    expect(await watch()).toMatchObject({ after: { n: 3, accepted: 2 } })
  })

  it('counts neither imported decisions nor suggestions by agents', async ({ expect }) => {
    const { watch, produce, accept, decide, firstId, replace, org } = await newWatched()
    const versionId = await replace(5, 5, firstId)
    const [imported = '', suggested = '', both = ''] = await produce(versionId, 3)
    await reviewerOf(org, 'ada@example.com')
    const source = { source: 'import', by: 'ada@example.com', at: new Date().toISOString() }
    await accept([imported, both], source)
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }))
    await decide([suggested], { decision: 'accept' }, agent)
    expect(await watch()).toMatchObject({ after: { n: 0, accepted: 0 } })
    await decide([both], { decision: 'correct', approvedOutput: 'No' })
    expect(await watch()).toMatchObject({ after: { n: 1, accepted: 0 } })
  })

  it('counts decisions since the activation, for the version that the span had at the time', async ({ expect }) => {
    const { watch, produce, accept, firstId, addVersion, activate, decided } = await newWatched()
    await decided(firstId, 2, 0)
    const versionId = await addVersion()
    // The version is tried before its activation.
    await decided(versionId, 3, 0)
    const tried = await produce(versionId, 1)
    await activate(versionId)
    expect(await watch()).toMatchObject({ before: { n: 2 }, after: { n: 0 } })
    await accept(tried)
    expect(await watch()).toMatchObject({ before: { n: 2 }, after: { n: 1 } })
  })

  it("counts a decision once if a root shows its descendant's review", async ({ expect }) => {
    const { watch, firstId, replace, org } = await newWatched()
    const versionId = await replace(1, 1, firstId)
    const trace = { trace_id: `trace_${crypto.randomUUID()}`, name: 'run', status: 'completed' }
    const timestamp = new Date().toISOString()
    const { id } = (await org.ingest.post('/api/v1/traces', { ...trace, timestamp })).body
    const output = { trace_id: trace.trace_id, type: 'output', data: 'A long enough answer to share.', timestamp }
    await org.ingest.post('/api/v1/observations', output)
    const span_id = crypto.randomUUID()
    const span = { span_id, step_id: WATCHED_STEP, prompt_version_id: versionId, output: output.data, timestamp }
    await org.ingest.post('/api/v1/spans', { trace_id: trace.trace_id, ...span })
    const { spans } = (await org.read.get(`/api/traces/${id}`)).body
    const root = spans[0].id
    expect((await org.owner.put(`/api/spans/${root}/review`, { decision: 'accept' })).status).toBe(200)
    expect((await org.read.get(`/api/spans/${span_id}`)).body.review.state).toBe('accepted')
    expect(await watch()).toMatchObject({ after: { n: 1, accepted: 1 } })
  })

  it('counts a decision on a stale output once, but not a second one on the new output', async ({ expect }) => {
    const { watch, produce, accept, correct, firstId, replace, org } = await newWatched()
    const versionId = await replace(1, 1, firstId)
    const [spanId = ''] = await produce(versionId, 1)
    await accept([spanId])
    const { trace } = (await org.read.get(`/api/spans/${spanId}`)).body
    const span = { trace_id: trace.traceId, span_id: spanId, step_id: WATCHED_STEP, output: 'Changed' }
    await org.ingest.post('/api/v1/spans', { ...span, timestamp: new Date().toISOString() })
    expect((await org.read.get(`/api/spans/${spanId}`)).body.review.stale).toBe(true)
    await correct([spanId])
    expect(await watch()).toMatchObject({ after: { n: 1, accepted: 1 } })
  })

  it('starts over with each activation, and compares with the previously active version', async ({ expect }) => {
    const { watch, decided, firstId, replace, activate, addVersion } = await newWatched()
    const second = await replace(20, 0, firstId)
    await decided(second, 0, 20)
    expect(await watch()).toMatchObject({ state: 'worse', versionId: second })
    await activate(firstId)
    expect(await watch()).toMatchObject({
      state: 'too_early',
      versionId: firstId,
      previousVersionId: second,
      before: { n: 20, accepted: 0 },
      after: { n: 0 },
      looks: [],
    })
    // The next activations happen within one minute.
    const third = await addVersion()
    await activate(third)
    await activate(second)
    await decided(second, 20, 0)
    expect(await watch()).toMatchObject({
      state: 'no_difference',
      versionId: second,
      previousVersionId: third,
      before: { n: 0, accepted: 0 },
      after: { n: 20 },
      p: 1,
      interval: null,
    })
  })

  it('keeps its looks when traces are deleted, while its other counts change', async ({ expect }) => {
    const { watch, decided, firstId, replace, org } = await newWatched()
    const old = await decided(firstId, 1, 0)
    const versionId = await replace(9, 10, firstId)
    const [purged = '', deleted = ''] = await decided(versionId, 2, 0)
    await purgeTraceOf(org, purged)
    const { trace } = (await org.read.get(`/api/spans/${deleted}`)).body
    // This trace is deleted, but not purged yet.
    await org.owner.delete(`/api/traces/${trace.id}`)
    await purgeTraceOf(org, String(old[0]))
    expect(await watch()).toMatchObject({ state: 'too_early', before: { n: 19, accepted: 9 }, after: { n: 0 } })
    const counted = await decided(versionId, 20, 0)
    const reached = await watch()
    expect(reached).toMatchObject({ state: 'better', after: { n: 20, accepted: 20 } })
    for (const spanId of counted.slice(0, 3)) await purgeTraceOf(org, spanId)
    expect(await watch()).toEqual(reached)
  })

  it('keeps counts when a reviewer is deleted, and follows a step that is renamed', async ({ expect }) => {
    const { watch, produce, decide, decided, firstId, replace, org } = await newWatched()
    const versionId = await replace(10, 10, firstId)
    const { userId, client } = await reviewerOf(org)
    await decide(await produce(versionId, 10), { decision: 'accept' }, client)
    await org.owner.delete(`/api/users/${userId}`)
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { [WATCHED_STEP]: 'answer' } })
    await decided(versionId, 10, 0)
    expect(await watch()).toMatchObject({ state: 'better', after: { n: 20, accepted: 20 } })
  })

  it("doesn't count another project's or tenant's decisions", async ({ expect }) => {
    const mine = await newWatched()
    const versionId = await mine.replace(10, 10, mine.firstId)
    const theirs = await newWatched(await newOrg())
    const theirVersion = await theirs.replace(10, 10, theirs.firstId)
    await theirs.decided(theirVersion, 20, 0)
    expect(await mine.watch()).toMatchObject({ state: 'too_early', after: { n: 0 }, versionId })
    expect((await theirs.org.read.get(mine.path)).status).toBe(403)
  })

  it('lists the decisions that each of its numbers includes', async ({ expect }) => {
    const { org, watch, decided, accept, reset, firstId, replace, promptId } = await newWatched()
    const versionId = await replace(5, 10, firstId)
    const [again] = await decided(versionId, 19, 3)
    const { before, after } = await watch()
    const list = async (filter: string) => {
      const ids = new Set<string>()
      let [cursor, expired] = ['', 0]
      do {
        const path = `/api/spans?projectSlug=support&limit=7&watchedPromptId=${promptId}${filter}${cursor}`
        const { status, body } = await org.owner.get(path)
        expect(status, JSON.stringify(body)).toBe(200)
        for (const { id } of body.spans) ids.add(id)
        expired += body.expired ?? 0
        cursor = body.nextCursor ? `&cursor=${body.nextCursor}` : ''
      } while (cursor)
      return { ids, listed: ids.size, expired }
    }
    const lengths = async () => ({
      before: {
        n: (await list('&watchedSide=before')).listed,
        accepted: (await list('&watchedSide=before&decision=accept')).listed,
      },
      after: { n: (await list('')).listed, accepted: (await list('&watchedSide=after&decision=accept')).listed },
    })
    expect({ before, after }).toEqual({ before: { n: 15, accepted: 5 }, after: { n: 20, accepted: 19 } })
    expect(await lengths()).toEqual({ before, after })
    // A decision that's no longer current was still the first one.
    if (again) await reset([again]).then(() => accept([again]))
    expect((await list('')).ids.size).toBeGreaterThanOrEqual(19)
    const [listed] = (await list('&watchedSide=before')).ids
    if (listed) await purgeTraceOf(org, listed)
    expect(await list('&watchedSide=before')).toMatchObject({ listed: 14, expired: 1 })
  })

  it('rejects contradictory filters, and lists nothing from another tenant', async ({ expect }) => {
    const { org, promptId, firstId, replace } = await newWatched()
    await replace(1, 1, firstId)
    const list = (filter: string, by = org) => by.owner.get(`/api/spans?projectSlug=support&${filter}`)
    const problemId = crypto.randomUUID()
    expect(await list('watchedSide=before')).toMatchObject({
      status: 400,
      body: { details: [{ path: 'watchedSide' }] },
    })
    expect(await list(`watchedPromptId=${promptId}&problemId=${problemId}`)).toMatchObject({ status: 400 })
    expect(await list(`watchedPromptId=${promptId}`)).toMatchObject({ status: 200 })
    expect(await list(`watchedPromptId=${promptId}`, await newOrg())).toMatchObject({ status: 404 })
    expect(await list(`watchedPromptId=${crypto.randomUUID()}`)).toMatchObject({ status: 404 })
  })

  it("is deleted with its prompt or project, and a prompt that gets the same key doesn't inherit it", async ({
    expect,
  }) => {
    const { decided, firstId, replace, org, path, promptId } = await newWatched()
    const versionId = await replace(20, 0, firstId)
    await decided(versionId, 0, 20)
    expect(await looksOf(promptId)).toHaveLength(1)
    const key = await env.DB.prepare('select key from versioned_texts where id = ?').bind(promptId).first('key')
    await org.owner.delete(path)
    const left = 'select count(*) as n from watch_looks where text_key = ?'
    expect(await env.DB.prepare(left).bind(key).first('n')).toBe(0)

    const other = await newWatched(await newOrg())
    await other.decided(await other.replace(20, 0, other.firstId), 0, 20)
    const row = await env.DB.prepare('select key, organization_key, project_key from versioned_texts where id = ?')
      .bind(other.promptId)
      .first<{ key: number; organization_key: number; project_key: number }>()
    if (!row) throw new Error('no such prompt')
    await other.org.owner.delete(`/api/projects/${other.org.project.id}`, { confirm: 'support' })
    const job = { organizationKey: row.organization_key, projectKey: row.project_key } as const
    for (let run = 0; run < 5; run++) await runJob({ kind: 'purge_project', ...job }, withoutQueue())
    expect(await env.DB.prepare(left).bind(row.key).first('n')).toBe(0)
  })

  it('is stored by cron, and only once, if the reviewer’s request failed to store it', async ({ expect }) => {
    const { decided, firstId, replace, promptId, watch } = await newWatched()
    const versionId = await replace(20, 0, firstId)
    await decided(versionId, 0, 20)
    await env.DB.prepare('delete from watch_looks').run()
    await env.DB.prepare("delete from sweeps where name = 'watches'").run()
    // Each run checks only a few prompts, and other tests also create prompts.
    for (let run = 0; run < 30 && (await looksOf(promptId)).length === 0; run++) await sweep(env, Date.now())
    const stored = await looksOf(promptId)
    expect(stored).toHaveLength(1)
    await Promise.all([watch(), watch(), sweep(env, Date.now())])
    expect(await looksOf(promptId)).toEqual(stored)
  })
})

describe('a gate with autoRollback', () => {
  it('reactivates the previous version once a new one is worse after 40 decisions, and records why', async ({
    expect,
  }) => {
    const { decided, firstId, replace, setGate, active, rollbacks, watch, promptId, org } = await newWatched()
    const versionId = await replace(30, 2, firstId)
    expect(await setGate({ autoRollback: true })).toMatchObject({ autoRollback: true })
    await decided(versionId, 0, 20)
    // The version is worse, but has too few decisions.
    expect(await watch()).toMatchObject({ state: 'worse' })
    await decided(versionId, 2, 17)
    expect(await active()).toBe(versionId)
    await decided(versionId, 0, 1)
    expect(await active()).toBe(firstId)
    const [entry, ...others] = await rollbacks()
    expect(others).toEqual([])
    expect(entry).toMatchObject({
      targetId: promptId,
      projectId: org.project.id,
      beforeId: versionId,
      afterId: firstId,
      actor: { keyId: null, userId: null },
      reason: expect.stringMatching(
        /^Version 2 is worse: 2 of 40 outputs accepted, compared with 30 of 32 from version 1; p = \d\.\de-\d+$/,
      ),
    })
    expect(await watch()).toMatchObject({ state: 'too_early', versionId: firstId, previousVersionId: versionId })
  })

  it("does nothing if the setting is off, or if the version isn't worse", async ({ expect }) => {
    const off = await newWatched()
    const second = await off.replace(30, 0, off.firstId)
    await off.setGate({})
    await off.decided(second, 0, 40)
    expect(await off.watch()).toMatchObject({ state: 'worse' })
    expect(await off.active()).toBe(second)
    const on = await newWatched()
    const better = await on.replace(0, 30, on.firstId)
    await on.setGate({ autoRollback: true })
    await on.decided(better, 40, 0)
    expect(await on.watch()).toMatchObject({ state: 'better' })
    expect(await on.active()).toBe(better)
    expect(await on.rollbacks()).toEqual([])
  })

  it('rolls back a version that was already worse, at the next decision or cron run', async ({ expect }) => {
    const { decided, firstId, replace, setGate, active } = await newWatched()
    const versionId = await replace(30, 0, firstId)
    await decided(versionId, 0, 40)
    await setGate({ autoRollback: true })
    expect(await active()).toBe(versionId)
    await env.DB.prepare("delete from sweeps where name = 'watches'").run()
    for (let run = 0; run < 30 && (await active()) !== firstId; run++) await sweep(env, Date.now())
    expect(await active()).toBe(firstId)
  })

  it('never rolls back a version that was active before, so it can’t go in circles', async ({ expect }) => {
    const { decided, firstId, replace, setGate, active, activate, rollbacks, watch } = await newWatched()
    const versionId = await replace(40, 0, firstId)
    await setGate({ autoRollback: true })
    await decided(versionId, 10, 30)
    expect(await active()).toBe(firstId)
    // The first version now does worse than the second did.
    await decided(firstId, 0, 80)
    expect(await watch()).toMatchObject({ state: 'worse', versionId: firstId })
    expect(await active()).toBe(firstId)
    // Somebody reactivates the second version.
    await activate(versionId)
    await decided(firstId, 40, 0)
    await decided(versionId, 0, 80)
    expect(await active()).toBe(versionId)
    expect(await rollbacks()).toHaveLength(1)
  })

  it('acts on a version that somebody activated despite the gate', async ({ expect }) => {
    const { decided, firstId, addVersion, setGate, active, org, path } = await newWatched()
    await decided(firstId, 40, 0)
    await setGate({ autoRollback: true })
    const versionId = await addVersion()
    const choice = { versionId, override: 'We need it today' }
    expect((await org.owner.put(`${path}/active-version`, choice)).status).toBe(200)
    await decided(versionId, 0, 40)
    expect(await active()).toBe(firstId)
  })

  it('leaves alone a version that somebody activates in the meantime', async ({ expect }) => {
    const { decided, lastDecision, firstId, replace, setGate, active, activate, addVersion, rollbacks } =
      await newWatched()
    const versionId = await replace(40, 0, firstId)
    const third = await addVersion()
    await setGate({ autoRollback: true })
    await decided(versionId, 0, 39)
    await lastDecision(versionId, async write => {
      await activate(third)
      return write()
    })
    expect(await active()).toBe(third)
    expect(await rollbacks()).toEqual([])
  })

  it("acts once if the reply is lost, and doesn't undo what somebody does before the retry", async ({ expect }) => {
    const lost = new Error('D1_ERROR: Network connection lost')
    for (const isInsisting of [false, true]) {
      const { decided, lastDecision, firstId, replace, setGate, active, activate, rollbacks } = await newWatched()
      const versionId = await replace(40, 0, firstId)
      await setGate({ autoRollback: true })
      await decided(versionId, 0, 39)
      await lastDecision(versionId, async write => {
        await write()
        if (isInsisting) await activate(versionId)
        throw lost
      })
      expect(await active()).toBe(isInsisting ? versionId : firstId)
      expect(await rollbacks()).toHaveLength(1)
    }
  })
})
