import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Job } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { newWatched, WATCHED_STEP } from '../support/watched.ts'
import { newSending, sent, withoutQueue } from '../support/webhooks.ts'

afterEach(() => vi.restoreAllMocks())

/** Bindings whose queue keeps its messages. */
function keepingJobs() {
  const jobs: Job[] = []
  const keep = async (job: Job) => void jobs.push(job)
  return { jobs, bindings: { ...env, JOBS: { send: keep } as unknown as Queue<Job> } }
}

describe('a rollback', () => {
  it('by a person is sent once, with the activation', async () => {
    const { org, webhook } = await newSending(['prompt.activated', 'prompt.rolled_back'])
    const { promptId, firstId, addVersion, activate } = await newWatched(org)
    const [second, third] = [await addVersion(), await addVersion()]
    // The first and the last are no rollback: the second version was never active before, and the third is newer.
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

  it('by the service is sent at once, with its reason', async () => {
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
    await env.DB.prepare("delete from sweeps where name = 'watches'").run()
    for (let run = 0; run < 30 && (await active()) !== firstId; run++) {
      await sweep({ ...withoutQueue(), JOBS: keepingJobs().bindings.JOBS }, Date.now())
    }
    expect((await sent(org)).map(({ event }) => event.data)).toMatchObject([{ automatic: true, versionId: firstId }])
  })

  it('that loses its reply is sent once', async () => {
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
