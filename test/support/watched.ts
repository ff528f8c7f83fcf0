import { event, resultsOf } from './batch.ts'
import { wrapBindings } from './bindings.ts'
import { aSpan, aTrace } from './builders.ts'
import { type Client, newOrg, type Org } from './org.ts'

export const WATCHED_STEP = 'generate-answer'

/** A tenant with a prompt, and functions that record decisions on outputs of its versions. */
export async function newWatched(tenant?: Org) {
  const org = tenant ?? (await newOrg())
  const draft = { projectSlug: 'support', stepId: WATCHED_STEP, content: 'First' }
  const created = (await org.owner.post('/api/prompts', draft)).body
  const path = `/api/prompts/${created.id}`
  const addVersion = async (): Promise<string> =>
    (await org.owner.post(`${path}/versions`, { content: crypto.randomUUID() })).body.id
  const activate = async (versionId: string): Promise<void> => {
    const { status, body } = await org.owner.put(`${path}/active-version`, { versionId, override: 'Urgent' })
    if (status !== 200) throw new Error(JSON.stringify(body))
  }
  /** Adds spans with an output of a version, each in its own trace. Returns their ids. */
  const produce = async (versionId: string, count: number, stepId = WATCHED_STEP): Promise<string[]> => {
    const ids = Array.from({ length: count }, () => crypto.randomUUID())
    const events = ids.flatMap(span_id => {
      const trace = aTrace()
      const span = { trace_id: trace.trace_id, span_id, step_id: stepId, output: 'Yes', prompt_version_id: versionId }
      return [event('trace', trace), event('span', aSpan(span))]
    })
    for (const { status, body } of await resultsOf(org, events)) {
      if (status !== 202) throw new Error(JSON.stringify(body))
    }
    return ids
  }
  /** Decides on spans, up to 200 per call. */
  const decide = async (spanIds: readonly string[], fields: object, by: Client = org.owner): Promise<void> => {
    for (let start = 0; start < spanIds.length; start += 200) {
      const reviews = spanIds.slice(start, start + 200).map(spanId => ({ spanId, ...fields }))
      const { body } = await by.post('/api/reviews', { reviews })
      const failed = body.results.find(({ status }: { status: number }) => status !== 200)
      if (failed) throw new Error(JSON.stringify(failed))
    }
  }
  const accept = (spanIds: readonly string[], fields: object = {}) => decide(spanIds, { decision: 'accept', ...fields })
  const correct = (spanIds: readonly string[], fields: object = {}) =>
    decide(spanIds, { decision: 'correct', approvedOutput: 'No', ...fields })
  const reset = (spanIds: readonly string[]) => decide(spanIds, { decision: 'reset' })
  /** Accepts some new outputs of a version and corrects others. Returns their ids. */
  const decided = async (versionId: string, accepted: number, corrected: number, fields: object = {}) => {
    const ids = await produce(versionId, accepted + corrected)
    await accept(ids.slice(0, accepted), fields)
    await correct(ids.slice(accepted), fields)
    return ids
  }
  /** Records decisions on the active version's outputs, and then adds a version and activates it. */
  const replace = async (accepted: number, corrected: number, activeId: string): Promise<string> => {
    await decided(activeId, accepted, corrected)
    const versionId = await addVersion()
    await activate(versionId)
    return versionId
  }
  /** Corrects an output of a version. The first write of the resulting rollback goes through `intercept`. */
  const lastDecision = async (versionId: string, intercept: (write: () => Promise<unknown>) => Promise<unknown>) => {
    const [spanId] = await produce(versionId, 1)
    let isNext = false
    let isDone = false
    const bindings = wrapBindings(
      async (_, call) => {
        if (!isNext || isDone) return call()
        isDone = true
        let result: Awaited<ReturnType<typeof call>> | undefined
        await intercept(async () => {
          result = await call()
        })
        return result ?? call()
      },
      undefined,
      ({ sql }) => {
        if (sql.startsWith('update "watch_looks" set "rolled_back_at"')) isNext = true
      },
    )
    await org.bearer(bindings).put(`/api/spans/${spanId}/review`, { decision: 'correct', approvedOutput: 'No' })
    if (!isDone) throw new Error('no rollback was tried')
  }
  return {
    org,
    lastDecision,
    promptId: String(created.id),
    path,
    firstId: String(created.versionId),
    addVersion,
    activate,
    produce,
    decide,
    accept,
    correct,
    reset,
    decided,
    replace,
    watch: async () => (await org.read.get(path)).body.watch,
    active: async (): Promise<string> =>
      (await org.read.get(path)).body.versions.find(({ isActive }: { isActive: boolean }) => isActive).id,
    rollbacks: async () => (await org.owner.get('/api/audit-log?action=prompt.roll_back')).body.entries,
    setGate: async (gate: object) => {
      const gatePath = `/api/projects/${org.project.id}/gates/${WATCHED_STEP}`
      const { status, body } = await org.owner.put(gatePath, { minItems: 1, ...gate })
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body
    },
  }
}
