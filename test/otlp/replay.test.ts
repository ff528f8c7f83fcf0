import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { answer } from '../../src/app.ts'
import { canonicalJson, type Json, type JsonObject } from '../../src/domain/json.ts'
import { recordedLogs, recordedSpans } from '../support/decoded-telemetry.ts'
import { newOrg, type Org } from '../support/org.ts'
import { type Recorded, recorded } from '../support/recorded.ts'
import { tracesOf as shownTraces, stepsIn } from '../support/shown-runs.ts'

/* Sends the exact bytes that real clients sent, and reads the result back. The expected result is in `clients/`. */

const directories = [...new Set(recorded().map(({ directory }) => directory))].filter(name => name !== 'quirks')

/** Sends a recorded request to the path for its signal with its original headers, except for the key. */
async function replay(org: Org, { path, headers, bytes }: Recorded): Promise<void> {
  const { 'transfer-encoding': _, host: __, connection: ___, 'x-api-key': ____, ...sent } = headers
  const target = path.slice(path.lastIndexOf('/v1/'))
  const request = new Request(`https://countersign.test${target}`, {
    method: 'POST',
    headers: { ...sent, authorization: `Bearer ${org.projectKey}` },
    body: bytes,
  })
  const context = createExecutionContext()
  const response = await answer(request, env, context)
  await waitOnExecutionContext(context)
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
}

interface Step {
  stepId: string
  input: Json | null | undefined
  output: Json | null | undefined
  metadata: JsonObject
}

/** Traces without ids, in an order that doesn't depend on ids. Lists sort traces that start at the same time by id. */
const comparable = (traces: readonly { name: string; fields: JsonObject; steps: readonly Step[] }[]) =>
  traces
    .map(({ name, fields, steps }) => ({ name, fields, steps: steps.map(comparableStep).toSorted() }))
    .map(trace => canonicalJson(trace))
    .toSorted()

const comparableStep = ({ stepId, input, output, metadata }: Step): string =>
  canonicalJson({ stepId, input: input ?? null, output: output ?? null, metadata })

async function tracesOf(org: Org) {
  const { traces } = (await org.read.get('/api/traces?projectSlug=support&kind=all&limit=200')).body
  const read = await Promise.all(
    traces.map(async ({ id }: { id: string }) => (await org.read.get(`/api/traces/${id}`)).body),
  )
  return read.toReversed()
}

describe.for(directories)('the exports of %s', directory => {
  const requests = recorded().filter(each => each.directory === directory)

  it('are stored as the client’s page shows, and change nothing if they are sent again', async ({ expect }) => {
    const org = await newOrg()
    for (const request of requests) await replay(org, request)
    const traces = await tracesOf(org)
    const sent = { spans: await recordedSpans(directory), logs: await recordedLogs(directory) }
    expect(comparable(traces.map(({ name, metadata, spans }) => ({ name, fields: metadata, steps: spans })))).toEqual(
      comparable(shownTraces(sent).map(trace => ({ ...trace, steps: stepsIn([trace]) }))),
    )
    for (const request of requests) await replay(org, request)
    expect((await tracesOf(org)).map(({ updatedAt, ...trace }) => trace)).toEqual(
      traces.map(({ updatedAt, ...trace }) => trace),
    )
  })
})

describe('a model call that two instrumentations recorded', () => {
  const usage = { inputTokens: 42, outputTokens: 9, totalTokens: 51, cachedTokens: 8 }

  it.for([
    ['langfuse-py', 'lc-chain', 'OpenAI-generation', { ...usage, reasoningTokens: 3 }],
    ['mlflow-otlp', 'RunnableSequence', 'Completions', usage],
  ] as const)('is counted once: %s', async ([directory, name, stepId, expected], { expect }) => {
    const org = await newOrg()
    for (const request of recorded().filter(each => each.directory === directory)) await replay(org, request)
    const trace = (await tracesOf(org)).find(each => each.name === name)
    const calls = trace.spans.filter((span: { usage: object | null }) => span.usage !== null)
    expect(calls.map((span: Step) => span.stepId)).toEqual(['ChatOpenAI', stepId])
    expect(trace).toMatchObject({ usage: expected, model: 'gpt-4.1-mini-2026-01-01' })
    expect(trace.usage).toEqual(calls[1].usage)
  })
})
