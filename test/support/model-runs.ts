import type { Env, Job } from '../../src/env.ts'
import { runExperiment } from '../../src/experiments/model/run.ts'
import { runModelJob } from '../../src/model/job.ts'
import { deliver, storeOf, withMessages } from './attribution.ts'
import { stored } from './database.ts'
import { experimentOf, newBench, STEP } from './experiments.ts'
import { aProvider } from './model.ts'
import type { Reply } from './model-wire.ts'
import type { Org } from './org.ts'

interface Fields {
  /** How many items the dataset has. */
  items?: number
  inputs?: readonly unknown[]
  expected?: unknown
  prompt?: string
  outputSchema?: object
  settings?: Partial<Env>
  tenant?: Org
}

export const PRICED = { ATTRIBUTION_INPUT_PRICE: '1', ATTRIBUTION_OUTPUT_PRICE: '10' }

/** A dataset, a prompt, a provider with these replies, and functions that run experiments with the model. */
export async function newModelBench(replies: readonly Reply[], fields: Fields = {}) {
  const { items = 3, expected = 'Yes', prompt = 'Answer the question: {{input.question}}', outputSchema } = fields
  const inputs = fields.inputs ?? Array.from({ length: items }, (_, number) => ({ question: `Question ${number}` }))
  const bench = await newBench(
    inputs.map(input => ({ input, expected })),
    fields.tenant,
  )
  const { org } = bench
  const created = await org.owner.post('/api/prompts', {
    projectSlug: 'support',
    stepId: STEP,
    content: prompt,
    ...(outputSchema && { outputSchema }),
  })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  const { bindings: provided, modelRequests } = await aProvider(replies, fields.settings)
  const { bindings, sent } = withMessages(provided)
  const owner = org.clientOf(org.ownerKey, bindings)
  const post = (body: object = {}) => owner.post('/api/experiments', bench.draft({ runner: 'model', ...body }))
  /** Delivers up to `most` jobs: those that were sent, and those that they send in turn. */
  const deliverAll = async (most = 100, using: Env = bindings) => {
    let delivered = 0
    for (let job = takeJob(sent); job && delivered < most; job = takeJob(sent), delivered++) {
      await deliver(job, using)
    }
    return delivered
  }
  const begin = async (body: object = {}) => {
    const response = await post(body)
    if (response.status !== 201) throw new Error(JSON.stringify(response.body))
    return { ...experimentOf(org, response.body.id), created: response.body }
  }
  return {
    ...bench,
    prompt: created.body,
    bindings,
    sent,
    modelRequests,
    owner,
    post,
    begin,
    deliverAll,
    /** Runs an experiment's job once. By default, it waits only briefly before a retry. */
    runOnce: async (id: string, times = { callMs: 20_000, retryMs: 1 }, using: Env = bindings) =>
      runModelJob(using, await storeOf(org, using), { kind: 'run_experiment', subject: id }, runExperiment(times)),
    /** Starts an experiment, runs it, and returns its report and its items. */
    runAll: async (body: object = {}) => {
      const experiment = await begin(body)
      await deliverAll()
      return { experiment, report: await experiment.report(), items: (await experiment.items()).items }
    },
    jobOf: (id: string) => stored.prepare('select * from model_jobs where subject = ?').bind(id).first(),
    leaseEnds: (id: string) =>
      stored.prepare('update model_jobs set lease_until = 1, due_at = 1 where subject = ?').bind(id).run(),
  }
}

function takeJob(sent: Job[]): Job | undefined {
  const index = sent.findIndex(({ kind }) => kind === 'model_job')
  return index < 0 ? undefined : sent.splice(index, 1)[0]
}
