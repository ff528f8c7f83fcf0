import { describe, it } from 'vitest'
import { newReviewed } from '../support/reviews.ts'
import { newTrace } from '../support/trace.ts'

describe('the attribution of a trace', () => {
  it.for([
    ['an id that does not begin with trace_', 'run_1', 400, /^trace_id: must be trace_/],
    ['an unknown trace', 'trace_none', 404, /^Trace not found$/],
  ] as const)('refuses %s', async ([, id, status, message], { expect }) => {
    const { org } = await newTrace()
    const answer = await org.ingest.post(`/api/v1/traces/${id}/attribute`)
    expect(answer.status).toBe(status)
    expect(answer.body.error).toMatch(message)
  })

  it('needs feedback to analyze, and says that it does not analyze yet', async ({ expect }) => {
    const { org, trace_id, give, id } = await newTrace()
    const attribute = () => org.ingest.post(`/api/v1/traces/${trace_id}/attribute`)
    expect(await attribute()).toMatchObject({
      status: 422,
      body: { error: 'The trace has no feedback to analyze', code: 'unprocessable' },
    })
    await give({ rating: 'negative' })
    expect(await attribute()).toMatchObject({ status: 501, body: { code: 'not_implemented' } })
    await org.owner.delete(`/api/traces/${id}`)
    expect((await attribute()).status).toBe(404)
  })

  it.for([
    ['a comment', 'post', 'feedback', { content: 'Why?' }, 501],
    ['a correction', 'put', 'review', { decision: 'correct', approvedOutput: 'No' }, 501],
    ['an acceptance', 'put', 'review', { decision: 'accept' }, 422],
  ] as const)('takes what reviewers left: %s', async ([, method, call, body, status], { expect }) => {
    const { org, trace_id, spanId } = await newReviewed('Yes')
    await org.owner[method](`/api/spans/${spanId}/${call}`, body)
    expect((await org.ingest.post(`/api/v1/traces/${trace_id}/attribute`)).status).toBe(status)
  })
})
