import { afterEach, describe, expect, it, vi } from 'vitest'
import { MAX_EVENT_VALUE_BYTES } from '../../src/limits.ts'
import { newDisputed } from '../support/attribution.ts'
import { aFeedback } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { newReviewed } from '../support/reviews.ts'
import { ACCEPT, correct, newVoted, RESET } from '../support/voting.ts'
import { newSending, receive, sendNow, sent, withoutQueue } from '../support/webhooks.ts'

afterEach(() => vi.restoreAllMocks())

const WITH_VALUES = { includeValues: true }
const INPUT = { question: 'How long?' }

/** A tenant whose webhook includes values, with a span to review. */
async function newValued(events: Parameters<typeof newSending>[0], output: unknown = { months: 12 }) {
  const { org, webhook } = await newSending(events, WITH_VALUES)
  const reviewed = await newReviewed(output, org)
  await reviewed.observe({ type: 'input', data: INPUT })
  return { ...reviewed, org, webhook }
}

const data = async (...asked: Parameters<typeof sent>) => (await sent(...asked)).map(({ event }) => event.data)

describe('a webhook with includeValues', () => {
  it('sends the values as they were at the time of each decision', async () => {
    const { org, webhook, review } = await newValued(['span.reviewed'])
    await review({ ...correct({ months: 24 }), comment: 'See the terms' })
    await review(ACCEPT)
    await review(RESET)
    const [first, ...others] = await data(org)
    expect(first).toMatchObject({
      values: { input: INPUT, output: { months: 12 }, approvedOutput: { months: 24 }, comment: 'See the terms' },
      omitted: [],
    })
    expect(others.map(({ values }) => [values.approvedOutput, values.comment])).toEqual([
      [{ months: 12 }, null],
      [null, null],
    ])
    // Deliveries don't keep the values.
    const { deliveries } = (await org.owner.get(`/api/webhooks/${webhook.id}/deliveries`)).body
    expect(JSON.stringify(deliveries)).not.toContain('months')
  })

  it('sends feedback with the values of its span, and an analysis with its reasoning', async () => {
    const { org, trace_id } = await newValued(['feedback.created'])
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, comment: 'Wrong', correction: { months: 24 } }))
    expect((await data(org)).map(({ values }) => values)).toEqual([
      { input: INPUT, output: { months: 12 }, comment: 'Wrong', correction: { months: 24 } },
    ])
    const other = await newSending(['attribution.finished'], WITH_VALUES)
    const { ask } = await newDisputed(undefined, other.org)
    const { body } = await ask(withoutQueue())
    expect((await data(other.org)).map(({ values }) => values)).toMatchObject([
      { reasoning: body.reasoning, evidence: expect.any(Array) },
    ])
  })

  it.for([
    ['of the largest size', MAX_EVENT_VALUE_BYTES - 2, []],
    ['that is larger', MAX_EVENT_VALUE_BYTES - 1, ['output', 'approvedOutput']],
  ] as const)('sends a value %s, or says that the value was left out', async ([, length, omitted]) => {
    const output = 'x'.repeat(length)
    const { org, review } = await newValued(['span.reviewed'], output)
    await review(ACCEPT)
    const kept = omitted.length === 0 ? output : null
    expect(await data(org)).toMatchObject([
      { values: { input: INPUT, output: kept, approvedOutput: kept, comment: null }, omitted },
    ])
  })

  // If there are several databases, the earlier events are sent together with the trace's event.
  it.skipIf(isSharded)("sends nothing about a trace that's deleted while events before it are sent", async () => {
    const { org, review, id } = await newValued(['span.reviewed'])
    const others = await Promise.all([1, 2, 3, 4, 5].map(() => newReviewed('Yes', org)))
    for (const other of others) await other.review(ACCEPT)
    await review(ACCEPT)
    const received = receive(async () => {
      if (received.length === 1) await stored.prepare('update traces set deleted_at = 1 where id = ?').bind(id).run()
      return new Response('ok')
    })
    await sendNow(org)
    expect(received.map(({ event }) => event.data.trace.id).toSorted()).toEqual(
      others.map(other => other.id).toSorted(),
    )
  })

  it('sends no votes or comments on an output that blind reviewers have yet to judge', async () => {
    const { org } = await newSending(['span.reviewed', 'span.disputed', 'feedback.created'], WITH_VALUES)
    const { ada, ben, vote, spanId } = await newVoted('Yes', { blind: true }, org)
    await ada.client.post(`/api/spans/${spanId}/feedback`, { content: 'secret' })
    await vote(ada, { ...correct('secret'), comment: 'secret' })
    await vote(ben, correct('Other secret'))
    expect(await sent(org)).toEqual([])
  })

  it('sends a disputed output without what people said about it', async () => {
    const { org } = await newSending(['span.disputed'], WITH_VALUES)
    const { ada, ben, vote } = await newVoted('Yes', {}, org)
    await vote(ada, { ...correct('secret'), comment: 'secret' })
    await vote(ben, correct('Other secret'))
    expect((await data(org)).map(({ values }) => values)).toEqual([{ input: null, output: 'Yes' }])
  })

  it('can be changed to send no values', async () => {
    const { org, webhook, review } = await newValued(['span.reviewed'])
    expect(webhook.includeValues).toBe(true)
    const changed = await org.owner.patch(`/api/webhooks/${webhook.id}`, { includeValues: false })
    expect(changed.body).toMatchObject({ includeValues: false })
    await review(ACCEPT)
    expect(Object.keys((await data(org))[0])).not.toContain('values')
  })
})
