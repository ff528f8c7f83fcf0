import { describe, expect, it } from 'vitest'
import type { EventType } from '../../src/domain/webhook.ts'
import { newDisputed } from '../support/attribution.ts'
import { type Counts, countingBindings } from '../support/bindings.ts'
import { aFeedback } from '../support/builders.ts'
import { newBench } from '../support/experiments.ts'
import { newWatched } from '../support/watched.ts'
import { newSending, withoutQueue } from '../support/webhooks.ts'

/** Makes calls that cause events. Returns their costs in a tenant whose webhook subscribes to `events`. */
async function costsWith(events: readonly EventType[]): Promise<Record<string, Counts>> {
  const { org } = await newSending(events)
  const costs: Record<string, Counts> = {}
  const call = async (name: string, method: 'post' | 'put' | 'patch', path: string, body?: object) => {
    const { bindings, counts } = countingBindings()
    // If there's no queue, the service runs jobs in the request.
    const { JOBS: _, ...others } = bindings
    const { status } = await org.bearer(others)[method](path, body)
    if (status >= 300) throw new Error(`${name} returned ${status}`)
    costs[name] = counts
  }
  // These calls make the isolate cache the key and the project.
  const { trace_id, ask, observe, read } = await newDisputed(undefined, org)
  await observe({ type: 'output', data: 'Yes' })
  await ask(withoutQueue())
  const [{ id: spanId, stepId }] = (await read()).spans
  await call('feedback', 'post', '/api/v1/feedback', aFeedback({ trace_id }))
  await call('comment', 'post', `/api/spans/${spanId}/feedback`, { content: 'Hm' })
  await call('analysis', 'post', `/api/v1/traces/${trace_id}/attribute?force=true`)
  const correction = { decision: 'correct', approvedOutput: 'No', comment: 'Wrong', errorType: 'hallucinated_content' }
  await call('decision', 'put', `/api/spans/${spanId}/review`, correction)
  const { problems } = (await org.read.get('/api/problems?projectSlug=support')).body
  await call('problem', 'patch', `/api/problems/${problems[0].id}`, { note: stepId })
  const { path, firstId, addVersion, activate } = await newWatched(org)
  await activate(await addVersion())
  await call('prompt', 'put', `${path}/active-version`, { versionId: firstId })
  const experiment = await (await newBench([{ expected: 'Yes' }], org)).begin()
  await call('experiment', 'post', `${experiment.path}/finish`)
  return costs
}

describe('an event', () => {
  it('costs nothing if no webhook subscribes to it, and no extra round trip otherwise', async () => {
    const [none, all] = [
      await costsWith(['trace.deleted']),
      await costsWith([
        'span.reviewed',
        'feedback.created',
        'attribution.finished',
        'prompt.rolled_back',
        'experiment.finished',
        'problem.changed',
      ]),
    ]
    for (const [name, cost] of Object.entries(all)) {
      const least = none[name]
      expect([name, cost.d1RoundTrips]).toEqual([name, least?.d1RoundTrips])
      expect([name, cost.rowsWritten > (least?.rowsWritten ?? 0)]).toEqual([name, true])
    }
  })
})
