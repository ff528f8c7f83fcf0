import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { newDisputed, withMessages } from '../support/attribution.ts'
import { stored } from '../support/database.ts'
import { newReviewed } from '../support/reviews.ts'

/** A trace with an answer from the engine, and functions that list traces by such answers. */
async function newAnswered() {
  const disputed = await newDisputed()
  await disputed.askAsync(withMessages().bindings)
  await runJob(disputed.job, env)
  const { error_type: errorType, span_id: blamed } = (await disputed.result()).body
  const list = async (query: string) => (await disputed.org.read.get(`/api/traces?projectSlug=support&${query}`)).body
  const idsOf = async (query: string) => (await list(query)).traces.map(({ id }: { id: string }) => id)
  return { ...disputed, errorType, blamed, list, idsOf }
}

const DAY = new Date().toISOString()

describe("traces filtered by the engine's latest answer", () => {
  it('are listed by its error type, step, and day, even if a reviewer names another type', async ({ expect }) => {
    const { org, id, errorType, idsOf, list } = await newAnswered()
    const unanswered = await newReviewed('Yes', org)
    await unanswered.review({ decision: 'correct', approvedOutput: 'No', errorType })
    const other = errorType === 'system_failure' ? 'reasoning_error' : 'system_failure'
    const root = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
    await org.owner.put(`/api/spans/${root}/review`, { decision: 'correct', approvedOutput: 'No', errorType: other })
    const { errorTypes } = (await org.read.get('/api/insights?projectSlug=support')).body
    const [{ stepId }] = errorTypes.filter(({ source }: { source: string }) => source === 'engine')
    const step = stepId === null ? 'engineHasStep=false' : `engineStepId=${stepId}`
    for (const [query, ids] of [
      [`engineErrorType=${errorType}`, [id]],
      [`engineErrorType=${errorType}&${step}`, [id]],
      [`engineErrorType=${other}`, []],
      [`engineErrorType=${errorType}&engineStepId=elsewhere`, []],
      [`engineHasStep=${stepId === null}`, []],
      [`engineHasStep=${stepId !== null}`, [id]],
      [`engineFrom=${DAY}&engineTo=${DAY}`, [id]],
      ['engineTo=2026-01-01T00:00:00.000Z', []],
      [`engineFrom=${DAY}&name=elsewhere`, []],
    ] as const) {
      expect(await idsOf(query), query).toEqual(ids)
    }
    expect(await idsOf(`errorType=${errorType}`)).toEqual([unanswered.id])
    expect((await list(`engineErrorType=${errorType}&limit=1`)).expired).toBe(0)
    for (const query of ['', `engineErrorType=${errorType}&name=support-answer`, 'engineHasStep=true&metadata.a=1']) {
      expect(await list(query), query).not.toHaveProperty('expired')
    }
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { [stepId ?? 'none']: 'renamed' } })
    if (stepId !== null) expect(await idsOf('engineStepId=renamed')).toEqual([id])
  })

  it('come with a count of those that have expired', async ({ expect }) => {
    const { org, id, job, errorType, list } = await newAnswered()
    const query = `engineErrorType=${errorType}&engineFrom=${DAY}`
    const counted = async () =>
      (await org.read.get('/api/insights?projectSlug=support')).body.errorTypes.map(
        ({ count }: { count: number }) => count,
      )
    // This is how retention marks an expired trace.
    await stored.prepare('update traces set deleted_at = 1, purge_due_at = 1 where id = ?').bind(id).run()
    for (const when of ['before the purge', 'after the purge', 'after the purge was repeated']) {
      expect(await list(query), when).toMatchObject({ traces: [], expired: 1 })
      expect((await list('engineErrorType=other_type')).expired, when).toBe(0)
      expect((await list('engineTo=2026-01-01T00:00:00.000Z')).expired, when).toBe(0)
      expect(await counted(), when).toEqual([1])
      await runJob({ ...job, kind: 'purge_trace' }, env)
    }
  })

  it.for([
    ['engineErrorType=', 'engineErrorType'],
    ['engineHasStep=yes', 'engineHasStep'],
    ['engineFrom=today', 'engineFrom'],
    ['engineFrom=2026-11-02T00:00:00.000Z&engineTo=2026-11-02T00:00:00.000Z', 'engineFrom'],
  ])('are not listed for %s', async ([query, path], { expect }) => {
    const { org } = await newReviewed('Yes')
    const { status, body } = await org.read.get(`/api/traces?projectSlug=support&${query}`)
    expect(status).toBe(400)
    expect(body.details[0].path).toBe(path)
  })
})
