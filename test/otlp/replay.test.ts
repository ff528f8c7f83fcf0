import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { answer } from '../../src/app.ts'
import { newOrg, type Org } from '../support/org.ts'
import { type Recorded, recorded } from '../support/recorded.ts'

/*
 * Sends the exact bytes that real clients sent, and reads the result back. The snapshots follow section 3 of the
 * mapping: review a change to them like a change to the mapping.
 */

const directories = [...new Set(recorded().map(({ directory }) => directory))].filter(name => name !== 'quirks')

/** Sends a recorded request to the path of its signal with its original headers, except for the key. */
async function replay(org: Org, { path, headers, bytes }: Recorded): Promise<string> {
  const { 'transfer-encoding': _, host: __, connection: ___, ...sent } = headers
  const target = path.slice(path.indexOf('/v1/'))
  const request = new Request(`https://countersign.test${target}`, {
    method: 'POST',
    headers: { ...sent, authorization: `Bearer ${org.projectKey}` },
    body: bytes,
  })
  const context = createExecutionContext()
  const response = await answer(request, env, context)
  await waitOnExecutionContext(context)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  return text
}

interface Step {
  id: string
  parentSpanId: string | null
  stepId: string
  status: string
  input: unknown
  output: unknown
  state: object
  promptVersionId: string | null
  createdAt: string
  metadata: Record<string, unknown>
}

/** The trace as it reads, its spans as a tree, without ids and times, which are random. */
function shown(trace: { name: string; status: string; metadata: object; feedback: object[]; spans: Step[] }) {
  const ids = new Set(trace.spans.map(({ id }) => id))
  // Steps that began at the same time are in the order of their ids, which differs between projects.
  const placeOf = ({ createdAt, stepId, input }: Step) => JSON.stringify([createdAt, stepId, input])
  const spans = trace.spans.toSorted((left, right) => (placeOf(left) < placeOf(right) ? -1 : 1))
  const below = (parent: string | null): object[] =>
    spans
      .filter(({ parentSpanId }) => (parentSpanId !== null && ids.has(parentSpanId) ? parentSpanId : null) === parent)
      .map(({ id, stepId, status, input, output, state, metadata }) => {
        const { otel, events, links, duration_ms, end_time, ...more } = metadata
        return { stepId, status, input, output, state, metadata: more, steps: below(id) }
      })
  const { name, status, metadata, feedback } = trace
  return { name, status, metadata, feedback: feedback.length, steps: below(null) }
}

async function tracesOf(org: Org) {
  const { traces } = (await org.read.get('/api/traces?projectSlug=support&kind=all&limit=200')).body
  const read = await Promise.all(
    traces.map(async ({ id }: { id: string }) => (await org.read.get(`/api/traces/${id}`)).body),
  )
  return read.toReversed()
}

describe.for(directories)('the exports of %s', directory => {
  const requests = recorded().filter(each => each.directory === directory)

  it('read as steps, and the same when they are sent twice', async ({ expect }) => {
    const org = await newOrg()
    for (const request of requests) await replay(org, request)
    const traces = await tracesOf(org)
    expect(traces.length).toBeGreaterThan(0)
    const listed = (await org.read.get('/api/traces?projectSlug=support&limit=200')).body.traces
    // Three of Codex' 435 spans are worth a look; a count covers the rest.
    const isLong = traces.flatMap(({ spans }) => spans).length > 100
    const told = isLong ? traces.filter(({ id }) => listed.some((each: { id: string }) => each.id === id)) : traces
    const summary = told.map(trace =>
      isLong
        ? {
            ...shown(trace),
            steps: trace.spans
              .filter(({ metadata }: Step) => metadata.kind !== 'generic')
              .map(({ stepId, input, output, state }: Step) => ({ stepId, input, output, state })),
          }
        : shown(trace),
    )
    expect({ listed: listed.length, of: traces.length, traces: summary }).toMatchSnapshot()
    for (const request of requests) await replay(org, request)
    expect((await tracesOf(org)).map(({ updatedAt, ...trace }) => trace)).toEqual(
      traces.map(({ updatedAt, ...trace }) => trace),
    )
  })
})
