import { afterEach, describe, it, vi } from 'vitest'
import page from '../../docs/webhooks.md?raw'
import { EVENT_TYPES, type EventType, TEST_EVENT } from '../../src/domain/webhook.ts'
import { WEBHOOK_RETRY_SECONDS } from '../../src/limits.ts'
import { newDisputed } from '../support/attribution.ts'
import { anObservation, aTrace } from '../support/builders.ts'
import { newBench } from '../support/experiments.ts'
import type { Client, Org } from '../support/org.ts'
import { ACCEPT, correct, newVoted } from '../support/voting.ts'
import { newSending, sent, withoutQueue } from '../support/webhooks.ts'

/* Checks that docs/webhooks.md lists all events and their fields. */

afterEach(() => vi.restoreAllMocks())

interface Row {
  /** Says when the event is sent. */
  when: string
  /** The fields of its data. */
  fields: string[]
}

/** Each event's row in the page's table. */
const documented = new Map<string, Row>(
  page.split('\n').flatMap(line => {
    const [, name, when = '', fields = ''] = line.split('|').map(cell => cell.trim())
    const type = /^`([a-z_]+\.[a-z_]+)`$/.exec(name ?? '')?.[1]
    return type ? [[type, { when, fields: namesIn(fields) }] as const] : []
  }),
)

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
}

/** The fields that, according to the page, every event's data has. */
const COMMON = ['sequence', 'at', 'projectId', 'projectSlug', 'by']

async function newSpan({ ingest, owner }: Org): Promise<{ id: string; spanId: string }> {
  const trace = aTrace()
  const { id } = (await ingest.post('/api/v1/traces', trace)).body
  await ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: 'Yes' }))
  return { id, spanId: (await owner.get(`/api/traces/${id}`)).body.spans[0].id }
}

/** For each event, a call that causes it. The client's key was created after the webhook. */
const CAUSES: Readonly<Partial<Record<EventType, (org: Org, by: Client) => Promise<unknown>>>> = {
  'span.reviewed': async (org, by) => by.put(`/api/spans/${(await newSpan(org)).spanId}/review`, ACCEPT),
  'span.disputed': async org => {
    const { ada, ben, vote } = await newVoted('Yes', { reviewers: 2 }, org)
    await vote(ada, ACCEPT)
    await vote(ben, correct('No'))
  },
  'feedback.created': async (org, by) => {
    const { spanId } = await newSpan(org)
    await by.post(`/api/spans/${spanId}/feedback`, { content: 'Why so?' })
  },
  'attribution.finished': async org => {
    const { ask } = await newDisputed(undefined, org)
    await ask(withoutQueue())
  },
  'prompt.rolled_back': async (_, by) => {
    const draft = { projectSlug: 'support', stepId: crypto.randomUUID(), content: 'Answer.' }
    const { id, versionId } = (await by.post('/api/prompts', draft)).body
    await by.post(`/api/prompts/${id}/versions`, { content: 'Answer briefly.', activate: true })
    await by.put(`/api/prompts/${id}/active-version`, { versionId })
  },
  'experiment.finished': async org => (await (await newBench([{ expected: 'Yes' }], org)).begin()).cancel(),
  'problem.changed': async (org, by) => {
    await by.put(
      `/api/spans/${(await newSpan(org)).spanId}/review`,
      correct('No', { errorType: 'hallucinated_content' }),
    )
    const { problems } = (await by.get('/api/problems?projectSlug=support')).body
    await by.patch(`/api/problems/${problems[0].id}`, { note: 'Ask for the newest doc.' })
  },
  'trace.deleted': async (org, by) => by.delete(`/api/traces/${(await newSpan(org)).id}`),
  'prompt.activated': (_, by) =>
    by.post('/api/prompts', { projectSlug: 'support', stepId: crypto.randomUUID(), content: 'Answer.' }),
}

describe("the page's table of events", () => {
  it('has a row for each event', ({ expect }) => {
    expect([...documented.keys()].toSorted()).toEqual([...EVENT_TYPES, TEST_EVENT].toSorted())
    for (const [type, { when }] of documented) expect([type, when]).not.toEqual([type, ''])
  })

  it.for(EVENT_TYPES)('lists the fields of %s', async (type, { expect }) => {
    const { org } = await newSending([type])
    await CAUSES[type]?.(org, org.owner)
    const [first] = (await sent(org)).filter(({ event }) => event.type === type)
    if (!first) throw new Error(`nothing here causes ${type}`)
    const names = [...COMMON, ...(documented.get(type)?.fields ?? [])]
    expect(Object.keys(first.event.data).toSorted()).toEqual(names.toSorted())
    if (type !== 'span.reviewed') return
    // The page shows one event in full.
    const [, shown = ''] = /```json\n(.*?)```/s.exec(page) ?? []
    const example = JSON.parse(shown)
    expect(Object.keys(example)).toEqual(Object.keys(first.event))
    expect(Object.keys(example.data).toSorted()).toEqual(Object.keys(first.event.data).toSorted())
    expect(Object.keys(example.data.trace)).toEqual(Object.keys(first.event.data.trace))
  })
})

it("the page's list of retries is correct", ({ expect }) => {
  const shown = (seconds: number): string => {
    const [amount, unit] = seconds < 3600 ? [seconds / 60, 'minute'] : [seconds / 3600, 'hour']
    return `${amount} ${unit}${amount === 1 ? '' : 's'}`
  }
  const waits = WEBHOOK_RETRY_SECONDS.map(shown)
  const text = page.replaceAll(/\s+/g, ' ')
  expect(text).toContain(`event gets ${waits.length + 1} attempts`)
  expect(text).toContain(`${waits.slice(0, -1).join(', ')}, and ${waits.at(-1)}`)
})
