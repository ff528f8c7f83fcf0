import { describe, it } from 'vitest'
import { aLogExport, aMessage, anyValue, exportSpans, nanosecondsAfter, newRun } from '../support/telemetry.ts'

const spanId = '00000000000000aa'

/** Creates a tenant, and a function that sends log records for one span. */
async function newLoggedRun() {
  const run = await newRun()
  const message = (eventName: string, body: object, at: number) =>
    aMessage({ traceId: run.traceId, spanId, eventName, body: anyValue(body), timeUnixNano: nanosecondsAfter(at) })
  const send = (...records: object[]) => run.org.ingest.post('/v1/logs', aLogExport(records))
  const root = async () => (await run.read()).spans[0]
  return { ...run, message, send, root }
}

const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4.1-mini' }
const question = {
  messages: [
    { role: 'system', content: 'Be short' },
    { role: 'user', content: 'How long?' },
  ],
}
const reply = { role: 'assistant', content: '30 days' }

describe('content sent only in log records', () => {
  it.for([
    ['before the span', true],
    ['after the span', false],
  ] as const)(
    'becomes its span’s content if the records arrive %s, one at a time and repeatedly',
    async ([, isBefore], { expect }) => {
      const { org, message, send, span, root } = await newLoggedRun()
      const records = [
        message('gen_ai.user.message', { content: 'How long?' }, 2),
        message('gen_ai.choice', { index: 0, message: { content: '30 days' }, finish_reason: 'stop' }, 50),
        message('gen_ai.system.message', { content: 'Be short' }, 1),
      ]
      const post = () => exportSpans(org, [span({ spanId, attributes: chat })])
      if (!isBefore) await post()
      for (const record of [...records, ...records]) expect((await send(record)).body).toEqual({})
      if (isBefore) await post()
      expect(await root()).toMatchObject({ input: question, output: reply })
      const queue = await org.owner.get('/api/review-queue?projectSlug=support')
      expect(queue.body).toMatchObject({ remaining: 1, spans: [{ output: reply }] })
    },
  )

  it('is stored as separate messages', async ({ expect }) => {
    const { org, trace_id, message, send, span } = await newLoggedRun()
    await exportSpans(org, [span({ spanId, attributes: chat })])
    await send(
      message('gen_ai.system.message', { content: 'Be short' }, 1),
      message('gen_ai.user.message', { content: 'How long?' }, 1),
    )
    const { observations } = (await org.ingest.get(`/api/v1/traces/${trace_id}/observations`)).body
    expect(observations).toMatchObject(question.messages.map(data => ({ type: 'input', key: null, data })))
  })

  it('combines several choices into one output', async ({ expect }) => {
    const { org, message, send, span, root } = await newLoggedRun()
    await exportSpans(org, [span({ spanId, attributes: chat })])
    const choice = (index: number) =>
      message('gen_ai.choice', { index, message: { content: `answer ${index}` } }, 10 + index)
    await send(choice(1), choice(0))
    expect((await root()).output).toMatchObject({ choices: [{ content: 'answer 0' }, { content: 'answer 1' }] })
  })

  it('waits for its span in a new trace that is listed as running', async ({ expect }) => {
    const { org, id, message, send } = await newLoggedRun()
    await send(message('gen_ai.user.message', { content: 'How long?' }, 1))
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toMatchObject([
      { id, status: 'running', spanCount: 0 },
    ])
  })

  it('is rejected with a reason unless it belongs to a span', async ({ expect }) => {
    const { message, send } = await newLoggedRun()
    const other = message('app.started', {}, 1)
    const orphan = { ...message('gen_ai.user.message', { content: 'How long?' }, 1), spanId: '' }
    const { partialSuccess } = (await send(other, other, orphan)).body
    expect(partialSuccess.rejectedLogRecords).toBe('3')
    expect(partialSuccess.errorMessage).toBe(
      '2 rejected: the record has no span content; 1 rejected: the record belongs to no span',
    )
  })
})
