import { env } from 'cloudflare:workers'
import { sql } from 'drizzle-orm'
import { afterEach, describe, it, vi } from 'vitest'
import { JobError } from '../../src/domain/job-error.ts'
import type { Job } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  DAY_MS,
  MAX_MODEL_JOB_ATTEMPTS,
  MODEL_JOB_LEASE_MS,
  MODEL_JOB_RENEW_MS,
  RESEND_AFTER_MS,
} from '../../src/limits.ts'
import { type ModelTask, runModelJob, type TaskOutcome } from '../../src/model/job.ts'
import {
  cancelModelJob,
  findModelJob,
  holdsJob,
  type ModelJob,
  requestModelJob,
} from '../../src/store/model-jobs/jobs.ts'
import { failModelJob } from '../../src/store/model-jobs/leases.ts'
import { deliver, storeOf, withMessages } from '../support/attribution.ts'
import { newOrg } from '../support/org.ts'
import { deleteElsewhere } from '../support/projects.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const DONE: TaskOutcome = { state: 'done', result: '{"version":1}' }

/** A project with a job that was requested once. */
async function newJob() {
  const org = await newOrg()
  const store = await storeOf(org)
  const project = await env.DB.prepare('select key from projects where id = ?')
    .bind(org.project.id)
    .first<{ key: number }>()
  const projectKey = project?.key ?? 0
  const name = { kind: 'suggest_version', subject: crypto.randomUUID() } as const
  const request = (more: { runsAgain?: boolean } = {}) =>
    requestModelJob(store, { ...name, projectKey }, { now: Date.now(), ...more })
  await request()
  const message: Job = {
    kind: 'model_job',
    organizationKey: store.organization.key,
    jobKind: name.kind,
    subject: name.subject,
  }
  return {
    org,
    store,
    projectKey,
    name,
    message,
    request,
    run: (task: ModelTask['run'], more: Partial<ModelTask> & { bindings?: typeof env } = {}) =>
      runModelJob(more.bindings ?? env, store, name, { run: task, ...more }),
    stored: () => env.DB.prepare('select * from model_jobs where subject = ?').bind(name.subject).first(),
    leaseUntil: (at: number) =>
      env.DB.prepare('update model_jobs set lease_until = ? where subject = ?').bind(at, name.subject).run(),
  }
}

/** A task that stays in its first call until `release` is called. */
function stuck() {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const run: ModelTask['run'] = async (_env, _store, _job, { signal }) => {
    reached.resolve()
    await Promise.race([
      released.promise,
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ])
    return DONE
  }
  return { run, reached: reached.promise, release: released.resolve }
}

describe('a job that asks a model', () => {
  it('runs once and keeps its result, even if it is delivered twice', async ({ expect }) => {
    const { run, store, name, stored } = await newJob()
    const runs = vi.fn(async () => DONE)
    await Promise.all([run(runs), run(runs), run(runs)])
    await run(runs)
    expect(runs).toHaveBeenCalledTimes(1)
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done', result: '{"version":1}', failure: null })
    expect(await stored()).toMatchObject({ due_at: null, lease_token: null })
  })

  it('absorbs requests while it is pending, and starts over if it is requested after it has ended', async ({
    expect,
  }) => {
    const { run, request, store, name } = await newJob()
    expect(await request()).toEqual([])
    await run(async () => {
      expect(await request()).toEqual([])
      return DONE
    })
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done' })
    expect(await request()).toHaveLength(1)
    expect(await findModelJob(store, name)).toMatchObject({ status: 'pending', result: null })
  })

  it('runs again if a request during its run asks it to', async ({ expect }) => {
    const { run, request, store, name } = await newJob()
    const next = await run(async () => {
      await request({ runsAgain: true })
      return DONE
    })
    expect(next).toEqual({ at: expect.any(Number) })
    expect(await findModelJob(store, name)).toMatchObject({ status: 'pending' })
    expect(await run(async () => DONE)).toBeUndefined()
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done' })
  })

  it('keeps its lease as long as the work continues', async ({ expect }) => {
    const { run, stored } = await newJob()
    const task = stuck()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
    const start = Date.now()
    const running = run(task.run)
    await task.reached
    const renewals = Math.ceil((2 * MODEL_JOB_LEASE_MS) / MODEL_JOB_RENEW_MS)
    for (let renewal = 1; renewal <= renewals; renewal++) {
      vi.advanceTimersByTime(MODEL_JOB_RENEW_MS)
      const until = start + renewal * MODEL_JOB_RENEW_MS + MODEL_JOB_LEASE_MS
      await expect.poll(async () => Number((await stored())?.lease_until)).toBeGreaterThanOrEqual(until)
    }
    const other = vi.fn(async () => DONE)
    await run(other)
    expect(other).not.toHaveBeenCalled()
    task.release()
    await running
    expect(await stored()).toMatchObject({ status: 'done', attempts: 0 })
  })

  it('lets another run take over after its lease expires, and stores nothing from the first run', async ({
    expect,
  }) => {
    const { run, leaseUntil, store, name } = await newJob()
    const task = stuck()
    const late = run(task.run)
    await task.reached
    await leaseUntil(1)
    await run(async () => ({ state: 'done', result: '"second"' }))
    task.release()
    expect(await late).toBeUndefined()
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done', result: '"second"' })
  })

  it("aborts a run's calls once it loses its lease or is canceled", async ({ expect }) => {
    for (const end of ['lease', 'cancel']) {
      const { run, store, name, leaseUntil } = await newJob()
      const task = stuck()
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      const running = run(task.run)
      await task.reached
      if (end === 'cancel') await cancelModelJob(store, name)
      else {
        await leaseUntil(1)
        await run(async () => DONE)
      }
      vi.advanceTimersByTime(MODEL_JOB_RENEW_MS)
      expect(await running).toBeUndefined()
      vi.useRealTimers()
      expect(await findModelJob(store, name)).toMatchObject({ status: end === 'cancel' ? 'cancelled' : 'done' })
    }
  })

  it('makes no call after it is canceled', async ({ expect }) => {
    const { run, store, name } = await newJob()
    const calls = vi.fn()
    await run(async (_env, _store, _job, { reserveCall }) => {
      await cancelModelJob(store, name)
      await reserveCall()
      calls()
      return DONE
    })
    expect(calls).not.toHaveBeenCalled()
    const counted = await env.DB.prepare(
      'select calls from model_calls where project_key = (select project_key from model_jobs where subject = ?)',
    )
      .bind(name.subject)
      .first()
    expect(counted).toBeNull()
  })

  it('lets a conditional write succeed only while its run has the lease', async ({ expect }) => {
    const { run, store, leaseUntil } = await newJob()
    const isHeld = (job: ModelJob) => store.database.get(sql`select ${holdsJob(store, job)} as held`)
    await run(async (_env, _store, job) => {
      expect(await isHeld(job)).toEqual({ held: 1 })
      expect(await isHeld({ ...job, token: 'another' })).toEqual({ held: 0 })
      await leaseUntil(1)
      await run(async () => DONE)
      expect(await isHeld(job)).toEqual({ held: 0 })
      return DONE
    })
  })

  it("continues in another run if it is handed over, and this doesn't count as an attempt", async ({ expect }) => {
    const { run, store, name } = await newJob()
    for (let runs = 0; runs < 2 * MAX_MODEL_JOB_ATTEMPTS; runs++) {
      expect(await run(async () => ({ state: 'continue' }))).toEqual({ at: expect.any(Number) })
    }
    await run(async () => DONE)
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done' })
  })

  it('waits as long as a provider requires, and gives the reason', async ({ expect }) => {
    const { run, store, name, message } = await newJob()
    const until = Date.now() + 10_000
    const waiting = { state: 'wait', until, reason: 'Too many requests' } as const
    expect(await run(async () => waiting)).toEqual({ at: until })
    expect(await findModelJob(store, name)).toMatchObject({ waitsUntil: until, failure: 'Too many requests' })
    const early = vi.fn(async () => DONE)
    await run(early)
    expect(early).not.toHaveBeenCalled()
    const sentAt = async (now: number) => {
      const { bindings, sent } = withMessages()
      await sweep(bindings, now)
      return sent.filter(job => job.kind === 'model_job' && job.subject === name.subject)
    }
    expect(await sentAt(until - 1000)).toEqual([])
    expect(await sentAt(until)).toEqual([message])
    vi.useFakeTimers({ toFake: ['Date'], now: until })
    await run(async () => DONE)
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done', failure: null, waitsUntil: null })
  })

  it('waits for the next day once the project has used up its calls', async ({ expect }) => {
    const { run, store, name, projectKey } = await newJob()
    const bindings = { ...env, MODEL_DAILY_LIMIT: '1' }
    const ask: ModelTask['run'] = async (_env, _store, _job, { reserveCall }) => {
      await reserveCall()
      return DONE
    }
    await env.DB.prepare('insert into model_calls values (?, ?, 1)')
      .bind(projectKey, Math.floor(Date.now() / DAY_MS))
      .run()
    expect(await run(ask, { bindings })).toBeUndefined()
    const midnight = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS
    expect(await findModelJob(store, name)).toMatchObject({
      status: 'pending',
      waitsUntil: midnight,
      failure: "The project has used up today's model calls",
    })
    // Even a message in the dead-letter queue doesn't cause the job to fail.
    await failModelJob(store, name, 'late', Date.now())
    vi.useFakeTimers({ toFake: ['Date'], now: midnight })
    await run(ask, { bindings })
    expect(await findModelJob(store, name)).toMatchObject({ status: 'done' })
  })

  it('is retried after an error, and finally fails permanently and cleans up', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { run, store, name } = await newJob()
    const failed = vi.fn(async () => {})
    const task = async () => {
      throw new JobError('The provider is down', { isFinal: false, retryAfterSeconds: 7 })
    }
    for (let attempt = 1; attempt < MAX_MODEL_JOB_ATTEMPTS; attempt++) {
      await expect(run(task, { failed })).rejects.toThrow('The provider is down')
      expect(await findModelJob(store, name)).toMatchObject({ status: 'pending', failure: 'The provider is down' })
    }
    expect(failed).not.toHaveBeenCalled()
    expect(await run(task, { failed })).toBeUndefined()
    expect(await findModelJob(store, name)).toMatchObject({ status: 'failed', failure: 'The provider is down' })
    expect(failed).toHaveBeenCalledTimes(1)
  })

  it('fails immediately if another attempt would also fail, and hides the text of unexpected errors', async ({
    expect,
  }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { run, request, store, name } = await newJob()
    await run(async () => {
      throw new JobError('ATTRIBUTION_MODEL is wrong', { isFinal: true })
    })
    expect(await findModelJob(store, name)).toMatchObject({ status: 'failed', failure: 'ATTRIBUTION_MODEL is wrong' })
    await request()
    await expect(
      run(async () => {
        throw new Error('secret')
      }),
    ).rejects.toThrow('secret')
    expect(await findModelJob(store, name)).toMatchObject({ status: 'pending', failure: 'The job failed' })
  })

  it('fails if its worker dies on every attempt', async ({ expect }) => {
    const { run, store, name, stored } = await newJob()
    await env.DB.prepare('update model_jobs set lease_until = 1, attempts = ? where subject = ?')
      .bind(MAX_MODEL_JOB_ATTEMPTS, name.subject)
      .run()
    const [task, failed] = [vi.fn(async () => DONE), vi.fn(async () => {})]
    await run(task, { failed })
    expect(task).not.toHaveBeenCalled()
    expect(failed).toHaveBeenCalledTimes(1)
    expect(await findModelJob(store, name)).toMatchObject({
      status: 'failed',
      failure: 'The job was interrupted on every attempt',
    })
    expect(await stored()).toMatchObject({ due_at: null })
  })

  it('is sent by cron if its message was lost', async ({ expect }) => {
    const { message, name } = await newJob()
    const now = Date.now()
    const sentAt = async (at: number) => {
      const { bindings, sent } = withMessages()
      await sweep(bindings, at)
      await sweep(bindings, at)
      return sent.filter(job => job.kind === 'model_job' && job.subject === name.subject)
    }
    expect(await sentAt(now)).toEqual([])
    expect(await sentAt(now + RESEND_AFTER_MS + 1000)).toEqual([message])
    expect(await sentAt(now + 2 * RESEND_AFTER_MS + 2000)).toEqual([message])
  })

  it('belongs to one organization, and is deleted with its project', async ({ expect }) => {
    const { message, org, name, projectKey, stored, request } = await newJob()
    const other = await newJob()
    expect(await findModelJob(other.store, name)).toBeUndefined()
    await cancelModelJob(other.store, name)
    expect(await stored()).toMatchObject({ status: 'pending' })
    expect(await deliver({ ...message, organizationKey: 0 })).toMatchObject({ isTaken: true })
    await deleteElsewhere(org.project.id)
    expect(await request()).toEqual([])
    await deliver({ kind: 'purge_project', organizationKey: message.organizationKey, projectKey })
    expect(await stored()).toBeNull()
    expect(await other.stored()).toMatchObject({ status: 'pending' })
  })
})
