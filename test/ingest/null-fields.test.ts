import { describe, it } from 'vitest'
import { event, resultsOf } from '../support/batch.ts'
import { aFeedback, anObservation, aSpan, aTrace, TIME } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

const SPAN_ID = '7c5be9e2-5a6a-4a35-b8c9-2f1d6a7f0c11'
const PARENT_ID = '7c5be9e2-5a6a-4a35-b8c9-2f1d6a7f0c12'

type Type = Parameters<typeof event>[0]

/** Each call with all of its optional fields. */
const FULL = {
  trace: { metadata: { tier: 'gold' }, duration_ms: 7 },
  span: {
    parent_span_id: PARENT_ID,
    input: { question: 'Is it covered?' },
    output: 'Yes',
    metadata: { model: 'small' },
    prompt_version_id: undefined,
    duration_ms: 5,
    status: 'error',
  },
  observation: { observation_id: SPAN_ID, span_id: SPAN_ID, key: 'ignored' },
  feedback: {
    feedback_id: 'mine',
    span_id: SPAN_ID,
    rating: 'negative',
    comment: 'Wrong',
    correction: { answer: 'No' },
    labeller: { name: 'Ada', email: 'ada@example.com' },
    timestamp: TIME,
  },
} as const

const nulls = (type: Type): object => Object.fromEntries(Object.keys(FULL[type]).map(field => [field, null]))

/** Each call with none of its optional fields. */
const BARE = {
  trace: (trace_id: string) => aTrace({ trace_id, status: 'completed', metadata: undefined }),
  span: (trace_id: string) => aSpan({ trace_id, span_id: SPAN_ID, input: undefined, output: undefined }),
  observation: (trace_id: string) => anObservation({ trace_id }),
  feedback: (trace_id: string) => aFeedback({ trace_id, rating: undefined, comment: undefined }),
}
const PATHS = { trace: 'traces', span: 'spans', observation: 'observations', feedback: 'feedback' } as const
const TYPES = ['trace', 'span', 'observation', 'feedback'] as const

const sendSingly = async (org: Org, type: Type, body: object) =>
  (await org.ingest.post(`/api/v1/${PATHS[type]}`, body)).status
const sendInBatch = async (org: Org, type: Type, body: object) => (await resultsOf(org, [event(type, body)]))[0]?.status

describe.for([
  ['call', sendSingly],
  ['batch', sendInBatch],
] as const)('null for an optional field in a %s', ([, sendBy]) => {
  it.for(TYPES)('is treated as absent for type %s', async (type, { expect }) => {
    const readAfter = async (fields: object) => {
      const { org, trace_id, read } = await newTrace()
      const status = await sendBy(org, type, { ...BARE[type](trace_id), ...fields })
      const { spans, feedback, metadata, durationMs } = await read()
      const shown = JSON.stringify({ status, metadata, durationMs, spans, feedback })
      return shown
        .replaceAll(spans[0].id, 'root')
        .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'id')
        .replaceAll(/\d{4}-[^"]+Z/g, 'time')
    }
    expect(await readAfter(nulls(type))).toBe(await readAfter({}))
  })

  it.for(TYPES)('keeps the earlier value for type %s', async (type, { expect }) => {
    const { org, trace_id, read } = await newTrace()
    await sendBy(org, type, { ...BARE[type](trace_id), ...FULL[type] })
    const { updatedAt: _, ...before } = await read()
    // With a null id, the call would create another record.
    const ids = { feedback_id: 'mine', observation_id: SPAN_ID }
    await sendBy(org, type, { ...BARE[type](trace_id), ...nulls(type), ...ids })
    const { updatedAt: __, ...after } = await read()
    expect(after).toEqual(before)
  })
})

it('null for a labeler’s name or email is treated as absent', async ({ expect }) => {
  const { org, give, read } = await newTrace()
  await give({ feedback_id: 'a', labeller: { name: null, email: 'ada@example.com' } })
  await give({ feedback_id: 'b', labeller: { name: 'Bob', email: null } })
  const { feedback } = await read()
  expect(feedback.map(({ labeller }: { labeller: object }) => labeller)).toEqual([
    { email: 'ada@example.com' },
    { name: 'Bob' },
  ])
  expect((await org.owner.get('/api/users')).body.users).toMatchObject([
    { id: feedback[0].userId, email: 'ada@example.com' },
  ])
})

it('null for a span’s value keeps an earlier value in the same batch', async ({ expect }) => {
  const { org, trace_id, read } = await newTrace()
  const span = (fields: object) => event('span', { ...BARE.span(trace_id), ...fields })
  await resultsOf(org, [span({ input: 1 }), span({ input: null, output: 2 }), span({ output: null })])
  expect((await read()).spans.at(-1)).toMatchObject({ input: 1, output: 2 })
})

it('null as an observation’s data is a value, which overrides the span’s own value', async ({ expect }) => {
  const { step, observe, spanOf } = await newTrace()
  await step({ span_id: SPAN_ID, input: 'Why?', output: 'Yes' })
  for (const type of ['input', 'output']) await observe({ span_id: SPAN_ID, type, data: null })
  expect(await spanOf(SPAN_ID)).toMatchObject({ input: ['Why?', null], output: null })
})

it('null for a required field gives a 400', async ({ expect }) => {
  const org = await newOrg()
  for (const type of TYPES) {
    for (const [field, value] of Object.entries(BARE[type](aTrace().trace_id))) {
      // An observation's data is required but may be null.
      if (field in FULL[type] || field === 'data' || value === undefined) continue
      const response = await org.ingest.post(`/api/v1/${PATHS[type]}`, {
        ...BARE[type](aTrace().trace_id),
        [field]: null,
      })
      expect([type, field, response.status, response.body.details?.[0].path]).toEqual([type, field, 400, field])
    }
  }
})
