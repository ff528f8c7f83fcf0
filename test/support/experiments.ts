import { env } from 'cloudflare:workers'
import { runJob } from '../../src/jobs/consumer.ts'
import { jobPlace, stored } from './database.ts'
import { newOrg, type Org } from './org.ts'
import { newReviewed } from './reviews.ts'

/** Experiments run on this step's dataset. */
export const STEP = 'generate-answer'

/** An example to import, with the split that its item gets. */
interface Example {
  id?: string
  input?: unknown
  expected: unknown
  state?: object
  split?: string
}

/** A tenant with a dataset of imported examples, and functions that run experiments on it. */
export async function newBench(examples: readonly Example[] = [], tenant?: Org) {
  const org = tenant ?? (await newOrg())
  const datasetId: string = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: STEP })).body.id
  const add = async (more: readonly Example[]): Promise<string[]> => {
    const items = more.map(({ split: _, ...example }) => ({
      id: crypto.randomUUID(),
      input: crypto.randomUUID(),
      ...example,
    }))
    for (let start = 0; start < items.length; start += 200) {
      const sent = await org.owner.post(`/api/datasets/${datasetId}/items`, { items: items.slice(start, start + 200) })
      const failed = sent.body.results.find(({ status }: { status: number }) => status !== 201)
      if (failed) throw new Error(JSON.stringify(failed))
    }
    for (const [index, { split }] of more.entries()) {
      if (split) await org.owner.patch(`/api/datasets/${datasetId}/items/${items[index]?.id}`, { split })
    }
    return items.map(({ id }) => id)
  }
  const ids = await add(examples)
  const draft = (body: object = {}) => ({ projectSlug: 'support', datasetId, runner: 'client', ...body })
  const post = (body: object = {}) => org.owner.post('/api/experiments', draft(body))
  /** Starts an experiment, and returns functions that work on it. */
  const begin = async (body: object = {}) => {
    const created = await post(body)
    if (created.status !== 201) throw new Error(JSON.stringify(created.body))
    return experimentOf(org, created.body.id)
  }
  return { org, datasetId, ids, add, draft, post, begin }
}

export type Bench = Awaited<ReturnType<typeof newBench>>

/** Functions that work on an experiment. */
export function experimentOf(org: Org, id: string) {
  const path = `/api/experiments/${id}`
  const send = (...results: object[]) => org.owner.post(`${path}/results`, { results })
  const items = async (query = '') => (await org.read.get(`${path}/items?${query}`)).body
  return {
    id,
    path,
    /** Sends results in one call. */
    send,
    /** Sends an output for each item, and returns the statuses. */
    sendOutputs: async (outputs: Readonly<Record<string, unknown>>): Promise<number[]> =>
      (await send(...Object.entries(outputs).map(([itemId, output]) => ({ itemId, output })))).body.results.map(
        ({ status }: { status: number }) => status,
      ),
    items,
    itemIds: async (query = ''): Promise<string[]> => (await items(query)).items.map(({ id }: { id: string }) => id),
    report: async () => (await org.read.get(path)).body,
    finish: () => org.owner.post(`${path}/finish`),
    cancel: () => org.owner.post(`${path}/cancel`),
    review: (itemId: string, decision: 'accept' | 'reject', more: object = {}) =>
      org.owner.post(`${path}/items/${itemId}/review`, { decision, ...more }),
  }
}

/** A span of `STEP` that has an output, in its own trace. */
export async function newStep(
  org: Org,
  { output = { answer: 12 }, input = { question: crypto.randomUUID() }, metadata = {} }: StepFields = {},
) {
  const trace = await newReviewed(null, org)
  const spanId = crypto.randomUUID()
  await trace.step({ span_id: spanId, step_id: STEP, input, output, metadata })
  const review = (body: object) => org.owner.put(`/api/spans/${spanId}/review`, body)
  return { ...trace, spanId, review }
}

interface StepFields {
  output?: unknown
  input?: unknown
  metadata?: object
}

export const keysOf = async (traceId: string) =>
  stored
    .prepare('select key, organization_key from traces where id = ?')
    .bind(traceId)
    .first<{ key: number; organization_key: number }>()

/** Deletes a trace, and purges it twice, because a queue may deliver a job twice. */
export async function purgeTrace(org: Org, traceId: string): Promise<number> {
  const row = await keysOf(traceId)
  if (!row) throw new Error('no such trace')
  await org.owner.delete(`/api/traces/${traceId}`)
  const place = await jobPlace(row.key)
  const job = { kind: 'purge_trace', organizationKey: row.organization_key, traceKey: row.key, ...place } as const
  for (let run = 0; run < 2; run++) await runJob(job, env)
  return row.key
}
