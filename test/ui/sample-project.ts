import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { runCron } from '../scripts/server.ts'
import { type Event, newOrganization, type Organization } from './organization.ts'
import { serverUrl } from './server.ts'

export const STEP = 'generate-answer'

const START = Date.now() - 3_600_000

/** A time within the last hour, so that counts over the last few days include it. */
export const time = (milliseconds: number): string => new Date(START + milliseconds).toISOString()

export const OUTPUT_SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'string' }, months: { type: 'integer', minimum: 0 } },
  required: ['answer'],
}

/** The pipeline's output in the trace with this number. */
export const answer = (index: number) => ({
  answer: `Answer ${index}: the warranty lasts ${index} months.`,
  months: index,
})

/** A completed trace with one span that has an output. */
export function answered(index: number, fields: { promptVersionId?: string; output?: unknown } = {}) {
  const trace_id = `trace_sample_${index}`
  const span_id = randomUUID()
  const events: Event[] = [
    {
      type: 'trace',
      body: {
        trace_id,
        name: 'support-answer',
        timestamp: time(index * 1_000),
        status: 'completed',
        duration_ms: 840,
        metadata: { group_id: `session-${index % 3}`, customer: { tier: index % 2 === 0 ? 'gold' : 'basic' } },
      },
    },
    {
      type: 'span',
      body: {
        trace_id,
        span_id,
        step_id: STEP,
        input: { question: `Question ${index}: how long is the warranty?` },
        output: fields.output ?? answer(index),
        timestamp: time(index * 1_000 + 10),
        duration_ms: 700,
        ...(fields.promptVersionId && { prompt_version_id: fields.promptVersionId }),
      },
    },
  ]
  return { trace_id, span_id, events }
}

export interface SampleProject extends Organization {
  /** A disabled webhook, so that tests send nothing. */
  webhookId: string
  promptId: string
  docId: string
  /** The dataset for `STEP`: four accepted items and a corrected one. */
  datasetId: string
  /** A trace with a parent span, a child span, each kind of observation, feedback, and a decision. */
  traceId: string
  /** The span in that trace that has the feedback. */
  spanId: string
  /** The corrected item's problem. */
  problemId: string
  /** Two finished experiments on the step. The first one has every kind of outcome and change. */
  experimentIds: [first: string, second: string]
}

const Prompts = v.object({ prompts: v.tuple([v.object({ versionId: v.string() })]) })
const Datasets = v.object({ datasets: v.tuple([v.object({ id: v.string() })]) })
const Problems = v.object({ problems: v.tuple([v.object({ id: v.string() })]) })
const Traces = v.object({ traces: v.tupleWithRest([v.object({ id: v.string() })], v.unknown()) })

/** Creates a project with some of everything that the app shows. */
export async function sampleProject(): Promise<SampleProject> {
  const organization = await newOrganization()
  const { make, call, post, project } = organization
  const text = { projectSlug: project.slug, note: 'First' }
  const promptId = await make('/api/prompts', {
    ...text,
    stepId: STEP,
    content: 'Answer in one sentence.\nName the months.',
    outputSchema: OUTPUT_SCHEMA,
  })
  await make(`/api/prompts/${promptId}/versions`, {
    content: 'Answer in two sentences.\nName the months.',
    note: 'Longer',
    activate: true,
  })
  const docId = await make('/api/knowledge-docs', {
    ...text,
    slug: 'warranty',
    title: 'Warranty',
    content: '24 months.',
  })
  const {
    prompts: [{ versionId: promptVersionId }],
  } = v.parse(Prompts, await call('GET', `/api/prompts?projectSlug=${project.slug}`))

  const samples = Array.from({ length: 12 }, (_, index) => answered(index, { promptVersionId }))
  await post(samples.flatMap(({ events }) => events))
  const last = samples.at(-1)
  if (!last) throw new Error('There are no samples')
  const { trace_id, span_id } = last
  const about = { trace_id, span_id, timestamp: time(12_000) }
  await post([
    {
      type: 'span',
      body: {
        ...about,
        span_id: randomUUID(),
        parent_span_id: span_id,
        step_id: 'retrieve',
        input: 'warranty',
        output: ['24 months.'],
        status: 'error',
      },
    },
    { type: 'observation', body: { ...about, type: 'state', key: 'documents', data: [{ slug: 'warranty' }] } },
    {
      type: 'feedback',
      body: {
        ...about,
        rating: 'negative',
        comment: 'It is 24 months.',
        correction: { answer: '24 months.' },
        labeller: { name: 'Noor', email: 'noor@example.com' },
      },
    },
  ])
  const ada = await organization.reviewer('Ada')
  await Promise.all(
    samples
      .slice(0, 4)
      .map(({ span_id }) => call('PUT', `/api/spans/${span_id}/review`, { decision: 'accept' }, ada.key)),
  )
  await call(
    'PUT',
    `/api/spans/${span_id}/review`,
    {
      decision: 'correct',
      approvedOutput: { answer: 'It lasts 24 months.', months: 24 },
      comment: 'This is about a different product.',
      errorType: 'hallucinated_content',
    },
    ada.key,
  )
  await call('POST', `/api/spans/${span_id}/feedback`, { content: 'See the warranty page.' }, ada.key)
  await call('POST', `/api/v1/traces/${trace_id}/attribute`, {})
  const spanIds = [...samples.slice(0, 4), last].map(({ span_id }) => span_id)
  const {
    datasets: [{ id: datasetId }],
  } = v.parse(Datasets, await call('GET', `/api/datasets?projectSlug=${project.slug}`))
  const experimentIds = await sampleExperiments(organization, { datasetId, promptVersionId, spanIds })
  // Update the counts that Insights shows.
  await runCron(serverUrl())
  const {
    traces: [{ id: traceId }],
  } = v.parse(Traces, await call('GET', `/api/traces?projectSlug=${project.slug}`))
  const {
    problems: [{ id: problemId }],
  } = v.parse(Problems, await call('GET', `/api/problems?projectSlug=${project.slug}`))
  const webhookId = await sampleWebhook(organization)
  return { ...organization, webhookId, promptId, docId, datasetId, traceId, problemId, spanId: span_id, experimentIds }
}

/** A disabled webhook. */
async function sampleWebhook({ make, call, ownerKey }: Organization): Promise<string> {
  const id = await make('/api/webhooks', {
    url: 'https://hooks.example.com/countersign',
    events: ['span.reviewed', 'span.disputed'],
    description: 'Copies corrections to the warehouse',
  })
  await call('PATCH', `/api/webhooks/${id}`, { enabled: false }, ownerKey)
  return id
}

/** Runs two experiments on reviewed spans: four that were accepted, and one that was corrected. */
async function sampleExperiments(
  { call, make, project }: Organization,
  { datasetId, promptVersionId, spanIds }: { datasetId: string; promptVersionId: string; spanIds: readonly string[] },
): Promise<[string, string]> {
  const run = async (name: string, outputs: readonly unknown[]) => {
    const id = await make('/api/experiments', {
      projectSlug: project.slug,
      datasetId,
      promptVersionId,
      runner: 'client',
      name,
    })
    const results = outputs.map((output, index) => ({ itemId: spanIds[index], output, durationMs: 700 + index }))
    await call('POST', `/api/experiments/${id}/results`, { results })
    await call('POST', `/api/experiments/${id}/finish`)
    return id
  }
  const corrected = { answer: 'It lasts 24 months.', months: 24 }
  return [
    await run('Shorter answers', [
      answer(0),
      { ...answer(1), months: 99 },
      { ...answer(2), answer: 'About 2 months.' },
    ]),
    await run('Cite the doc', [answer(0), answer(1), { ...answer(2), months: 3 }, answer(3), corrected]),
  ]
}
