import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Job } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { stored } from '../support/database.ts'
import { newBench, STEP } from '../support/experiments.ts'
import { newModelBench } from '../support/model-runs.ts'
import { newWatched, WATCHED_STEP } from '../support/watched.ts'
import { newSending, sent, withoutQueue } from '../support/webhooks.ts'

afterEach(() => vi.restoreAllMocks())

/** Bindings whose queue keeps its messages. */
function keepingJobs() {
  const jobs: Job[] = []
  const keep = async (job: Job) => void jobs.push(job)
  const queue = { send: keep } as unknown as Queue<Job>
  return { jobs, bindings: { ...env, JOBS: queue, EVENTS: queue } }
}

describe('a rollback', () => {
  it('by a person is sent once, along with the activation', async () => {
    const { org, webhook } = await newSending(['prompt.activated', 'prompt.rolled_back'])
    const { promptId, firstId, addVersion, activate } = await newWatched(org)
    const [second, third] = [await addVersion(), await addVersion()]
    // Only activating the first version is a rollback: the second was never active before, and the third is newer.
    for (const id of [third, second, firstId, firstId, third]) await activate(id)
    const rolledBack = (await sent(org)).filter(({ event }) => event.type === 'prompt.rolled_back')
    expect(rolledBack.map(({ event }) => event.data)).toEqual([
      {
        sequence: expect.any(Number),
        at: expect.any(String),
        projectId: org.project.id,
        projectSlug: 'support',
        promptId,
        stepId: WATCHED_STEP,
        versionId: firstId,
        versionNumber: 1,
        previousVersionId: second,
        previousVersionNumber: 2,
        automatic: false,
        reason: null,
        by: expect.any(String),
      },
    ])
    const { deliveries } = (await org.owner.get(`/api/webhooks/${webhook.id}/deliveries`)).body
    expect(deliveries.map(({ type }: { type: string }) => type)).toEqual([
      'prompt.activated',
      'prompt.rolled_back',
      ...Array(4).fill('prompt.activated'),
    ])
  })

  it('by the service is sent immediately, with its reason', async () => {
    const { org } = await newSending(['prompt.activated', 'prompt.rolled_back'])
    const { decided, produce, firstId, replace, setGate } = await newWatched(org)
    const versionId = await replace(30, 2, firstId)
    await setGate({ autoRollback: true })
    await decided(versionId, 2, 37)
    await sent(org)
    const [spanId] = await produce(versionId, 1)
    const { jobs, bindings } = keepingJobs()
    const decision = { decision: 'correct', approvedOutput: 'No' }
    expect((await org.bearer(bindings).put(`/api/spans/${spanId}/review`, decision)).status).toBe(200)
    expect(jobs.map(({ kind }) => kind)).toContain('send_events')
    const received = await sent(org)
    expect(received.map(({ event }) => event.type)).toEqual(['prompt.activated', 'prompt.rolled_back'])
    expect(received[1]?.event.data).toMatchObject({
      versionId: firstId,
      previousVersionId: versionId,
      automatic: true,
      reason: expect.stringMatching(/^Version 2 is worse: 2 of 40 outputs accepted/),
      by: null,
    })
  })

  it('by cron is sent', async () => {
    const { org } = await newSending(['prompt.rolled_back'])
    const { decided, firstId, replace, setGate, active } = await newWatched(org)
    const versionId = await replace(30, 0, firstId)
    await decided(versionId, 0, 40)
    await setGate({ autoRollback: true })
    await stored.prepare("delete from sweeps where name = 'watches'").run()
    for (let run = 0; run < 30 && (await active()) !== firstId; run++) {
      await sweep({ ...withoutQueue(), JOBS: keepingJobs().bindings.JOBS }, Date.now())
    }
    expect((await sent(org)).map(({ event }) => event.data)).toMatchObject([{ automatic: true, versionId: firstId }])
  })

  it('is sent once even if a reply from the database is lost', async () => {
    const { org } = await newSending(['prompt.rolled_back'])
    const { decided, lastDecision, firstId, replace, setGate } = await newWatched(org)
    const versionId = await replace(40, 0, firstId)
    await setGate({ autoRollback: true })
    await decided(versionId, 0, 39)
    await lastDecision(versionId, async write => {
      await write()
      throw new Error('D1_ERROR: Network connection lost')
    })
    expect(await sent(org)).toHaveLength(1)
  })
})

describe('an experiment', () => {
  const EXAMPLES = [1, 2, 3, 4].map(() => ({ expected: 'Yes', split: 'test' }))

  it("is reported once, with its figures and its step's gate, however it ends", async () => {
    const { org } = await newSending(['experiment.finished'])
    const { begin, datasetId } = await newBench(EXAMPLES, org)
    const prompt = await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'First' })
    await org.owner.put(`/api/projects/${org.project.id}/gates/${STEP}`, { minItems: 4, minPassRate: 1 })
    const { versionId } = prompt.body
    const complete = await begin({ promptVersionId: versionId, name: 'Try' })
    const ids = await complete.itemIds()
    await complete.sendOutputs(Object.fromEntries(ids.slice(1).map(id => [id, 'Yes'])))
    expect(await sent(org)).toEqual([])
    const [first = ''] = ids
    // The last output is sent twice.
    for (const _ of [1, 2]) await complete.sendOutputs({ [first]: 'No' })
    const finished = await begin()
    await finished.sendOutputs({ [first]: 'Yes' })
    for (const _ of [1, 2]) await finished.finish()
    const cancelled = await begin()
    for (const _ of [1, 2]) await cancelled.cancel()
    const received = await sent(org)
    const { counts, passRate, interval, coverage, usage, cost, durationMs, gate } = await complete.report()
    expect(received[0]?.event.data).toEqual({
      sequence: expect.any(Number),
      at: expect.any(String),
      projectId: org.project.id,
      projectSlug: 'support',
      experimentId: complete.id,
      datasetId,
      stepId: STEP,
      promptVersionId: versionId,
      state: 'finished',
      endReason: null,
      name: 'Try',
      report: {
        split: null,
        items: 4,
        pending: 0,
        removed: 0,
        counts,
        passRate,
        interval,
        coverage,
        usage,
        cost,
        durationMs,
      },
      gate: { met: false, unmet: gate.unmet, experimentId: complete.id },
      by: null,
    })
    expect({ counts, passRate }).toMatchObject({ counts: { passed: 3, failed: 1 }, passRate: 0.75 })
    expect(received.slice(1).map(({ event: { data } }) => data)).toMatchObject([
      { experimentId: finished.id, state: 'finished', gate: null, report: { counts: { passed: 1, error: 3 } } },
      { experimentId: cancelled.id, state: 'cancelled', report: { counts: { passed: 0, error: 0 } } },
    ])
    expect(received[1]?.event.data.by).toEqual(expect.any(String))
  })

  it('run by a model is reported immediately, whether it finishes or fails', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { org } = await newSending(['experiment.finished'])
    const model = await newModelBench([{ answer: 'Yes' }], { tenant: org })
    const { experiment } = await model.runAll()
    expect(model.sent.map(({ kind }) => kind)).toEqual(['send_events'])
    const other = await newSending(['experiment.finished'])
    const rejecting = await newModelBench([{ status: 400 }], { items: 40, tenant: other.org })
    const { experiment: failing } = await rejecting.runAll()
    expect((await sent(org)).map(({ event }) => event.data)).toMatchObject([
      { experimentId: experiment.id, state: 'finished', report: { counts: { passed: 3 } } },
    ])
    expect((await sent(other.org)).map(({ event }) => event.data)).toMatchObject([
      { experimentId: failing.id, state: 'failed', endReason: expect.stringContaining('400') },
    ])
  })
})

describe('a problem', () => {
  /** A tenant with a problem, and functions that change it. */
  async function newProblem() {
    const { org } = await newSending(['problem.changed'])
    const { firstId, addVersion, activate, produce, correct } = await newWatched(org)
    await correct(await produce(firstId, 1), { errorType: 'hallucinated_content' })
    const { problems } = (await org.read.get('/api/problems?projectSlug=support')).body
    const change = async (fields: object) => {
      const { status, body } = await org.owner.patch(`/api/problems/${problems[0].id}`, fields)
      if (status !== 200) throw new Error(JSON.stringify(body))
    }
    /** Runs cron as if the pass over problems were due. */
    const notice = async () => {
      await stored.prepare("delete from sweeps where name = 'problems'").run()
      await sweep({ ...withoutQueue(), JOBS: keepingJobs().bindings.JOBS }, Date.now())
    }
    return { org, problem: problems[0], addVersion, activate, change, notice }
  }
  const summaries = async (...asked: Parameters<typeof sent>) =>
    (await sent(...asked)).map(({ event: { data } }) => [data.previousState, data.state, data.changed])

  it('is reported whenever people change it', async () => {
    const { org, problem, change } = await newProblem()
    const user = (await org.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
    for (const _ of [1, 2]) await change({ dismissed: true, note: 'secret' })
    await change({ dismissed: false })
    await change({ assigneeId: user.id })
    const received = await sent(org)
    expect(received[0]?.event.data).toEqual({
      sequence: expect.any(Number),
      at: expect.any(String),
      projectId: org.project.id,
      projectSlug: 'support',
      problemId: problem.id,
      stepId: WATCHED_STEP,
      errorType: 'hallucinated_content',
      docSlug: null,
      state: 'dismissed',
      previousState: 'open',
      changed: ['state', 'dismissed', 'note'],
      assigneeId: null,
      candidateVersionId: null,
      by: expect.any(String),
    })
    expect(received.slice(1).map(({ event: { data } }) => [data.previousState, data.state, data.changed])).toEqual([
      ['dismissed', 'open', ['state', 'dismissed']],
      ['open', 'open', ['assigneeId']],
    ])
    expect(JSON.stringify(received)).not.toContain('secret')
  })

  it('is reported once if its state changes by itself', async () => {
    const { org, addVersion, activate, change, notice } = await newProblem()
    const versionId = await addVersion()
    await change({ candidateVersionId: versionId })
    await notice()
    expect(await summaries(org)).toEqual([['open', 'fixing', ['state', 'candidateVersionId']]])
    await activate(versionId)
    for (const _ of [1, 2]) await notice()
    expect(await summaries(org)).toEqual([['fixing', 'live', ['state']]])
    await change({ candidateVersionId: null })
    await notice()
    expect(await summaries(org)).toEqual([['live', 'open', ['state', 'candidateVersionId']]])
  })

  it('that an earlier release stored is reported only after its state has been recorded', async () => {
    const { org, addVersion, activate, change, notice } = await newProblem()
    const versionId = await addVersion()
    await change({ candidateVersionId: versionId })
    await sent(org)
    await stored.prepare('update problems set known_state = null where candidate_version_id = ?').bind(versionId).run()
    await notice()
    await activate(versionId)
    expect(await summaries(org)).toEqual([])
    await notice()
    expect(await summaries(org)).toEqual([['fixing', 'live', ['state']]])
  })
})
