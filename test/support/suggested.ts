import { datasetUuid, problemUuid } from '../../src/domain/ids.ts'
import type { Env, Job } from '../../src/env.ts'
import { deliver, withMessages } from './attribution.ts'
import { aSpan, aTrace } from './builders.ts'
import { stored } from './database.ts'
import { aProvider } from './model.ts'
import type { Reply } from './model-wire.ts'
import { newOrg, type Org } from './org.ts'
import { aChange } from './suggestions.ts'

const STEP = 'answer'
const TYPE = 'hallucinated_content'
export const PROMPT = 'You answer customers.\nBe brief.\nQuestion: {{input.question}}\n'

/** A model's valid answer. */
export const SUGGESTED: Reply = { answer: { changes: [aChange()] } }

/**
 * A tenant with a prompt and a problem in the prompt's step. The problem has `examples` corrected outputs in `train`.
 */
export async function newSuggestible({ examples = 1, org }: { examples?: number; org?: Org } = {}) {
  const tenant = org ?? (await newOrg())
  const { project, owner } = tenant
  const draft = { projectSlug: project.slug, stepId: STEP, content: PROMPT, outputSchema: { type: 'object' } }
  const prompt = (await owner.post('/api/prompts', draft)).body
  const problemId = await problemUuid(project.id, { stepId: STEP, errorType: TYPE, docSlug: '' })
  const datasetId = await datasetUuid(project.id, STEP)
  const path = `/api/problems/${problemId}/suggestion`
  /** Corrects an output of the step, and puts its item in a split. */
  const correct = async (
    fields: object = {},
    { split = 'train', ...decision }: { split?: string; [field: string]: unknown } = {},
  ) => {
    const trace = aTrace({ metadata: { group_id: crypto.randomUUID() } })
    const { id } = (await tenant.ingest.post('/api/v1/traces', trace)).body
    const span = aSpan({ trace_id: trace.trace_id, step_id: STEP, output: { answer: '12 months.' }, ...fields })
    await tenant.ingest.post('/api/v1/spans', span)
    const spanId = span.span_id
    const correction = {
      decision: 'correct',
      approvedOutput: { answer: '24 months.' },
      comment: 'The chunk says 24.',
      errorType: TYPE,
      ...decision,
    }
    await owner.put(`/api/spans/${spanId}/review`, correction)
    await owner.patch(`/api/datasets/${datasetId}/items/${spanId}`, { split })
    return { id, spanId, delete: () => owner.delete(`/api/traces/${id}`) }
  }
  const spans = []
  for (let made = 0; made < examples; made++) spans.push(await correct())
  const versions = async () => (await owner.get(`/api/prompts/${prompt.id}`)).body.versions
  return {
    org: tenant,
    prompt,
    problemId,
    datasetId,
    path,
    correct,
    spans,
    versions,
    request: (bindings: Env) => tenant.clientOf(tenant.ownerKey, bindings).post(path),
    result: (query = '') => owner.get(`${path}${query}`),
    job: async () =>
      stored.prepare("select * from model_jobs where kind = 'suggest_version' and subject = ?").bind(problemId).first(),
  }
}

/** Bindings with a model that gives these answers, and functions that run the job that a request has sent. */
export async function aSuggestingModel(replies: readonly Reply[] = [SUGGESTED], settings: Partial<Env> = {}) {
  const { bindings: model, modelRequests } = await aProvider(replies, settings)
  const { bindings, sent } = withMessages(model)
  const jobs = () => sent.filter((job): job is Job & { kind: 'model_job' } => job.kind === 'model_job')
  return {
    bindings,
    jobs,
    modelRequests,
    /** Delivers the last job that was sent. */
    run: async (more: Partial<Env> = {}) => {
      const job = jobs().at(-1)
      if (!job) throw new Error('no job was sent')
      return deliver(job, { ...bindings, ...more })
    },
  }
}
