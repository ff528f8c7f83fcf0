import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { type Event, newOrganization, type Organization } from './organization.ts'
import { time } from './sample-project.ts'

/** A string that may be mistaken for code or markup, and a part of it that pages must show unchanged. */
interface HostileText {
  name: string
  text: string
  shown: string
}

const ATTACK = "window.__pwned='ran'"

export const HOSTILE_TEXTS: readonly HostileText[] = [
  {
    name: 'markup, scripts, and templates',
    text: `<img src=x onerror="${ATTACK}"><script>${ATTACK}</script> {{constructor.constructor("${ATTACK}")()}} \${${ATTACK}} [a](javascript:${ATTACK})`,
    shown: '<img src=x onerror=',
  },
  {
    name: 'a javascript: link',
    text: `javascript:${ATTACK}//"onmouseover="${ATTACK}" x='`,
    shown: 'javascript:window.__pwned',
  },
  {
    name: 'direction marks, joined emoji, and combining marks',
    text: `\u202Eexe.tnemyap\u202C \u2066\u200Bfree \u{1F469}\u200D\u{1F469}\u200D\u{1F467} \u{1F3F3}\uFE0F\u200D\u{1F308} Z\u0351\u036B\u0343 \uFDFD עברית`,
    shown: 'U+202E',
  },
  { name: 'a very long word', text: 'W'.repeat(100_000), shown: 'WWWWWWWWWWWWWWWW' },
  { name: "the name of an object's prototype", text: '__proto__', shown: '__proto__' },
]

const MAX_NAME_LENGTH = 256

const name = (text: string) => text.slice(0, MAX_NAME_LENGTH)

/** An email address that contains as much of a string as an address can. */
const email = (text: string, index: number) => `${text.replaceAll(/[\s@]/g, '').slice(0, 200)}@${index}.example`

/** An object that has a string as its keys and values at every depth. */
const about = (text: string, length = text.length) => ({
  [text.slice(0, length)]: text.slice(0, length),
  nested: { [name(text)]: [name(text), { constructor: name(text), toString: null, '': name(text) }] },
})

/** Everything that a pipeline can send about one trace, with a hostile string in every field. */
function hostileTrace(text: string, index: number) {
  const trace_id = `trace___proto__${index}_${'-'.repeat(60)}`
  const span_id = randomUUID()
  const timestamp = time(index * 1_000)
  const in_span = { trace_id, span_id, timestamp }
  const events: Event[] = [
    {
      type: 'trace',
      body: {
        trace_id,
        name: name(text),
        timestamp,
        status: 'completed',
        duration_ms: 5,
        metadata: about(text, 20_000),
      },
    },
    {
      type: 'span',
      body: { ...in_span, step_id: name(text), input: about(text), output: about(text), metadata: about(text, 20_000) },
    },
    { type: 'observation', body: { ...in_span, type: 'input', data: about(text) } },
    { type: 'observation', body: { ...in_span, type: 'state', key: name(text), data: text } },
    {
      type: 'feedback',
      body: {
        ...in_span,
        feedback_id: `${index} ${text.slice(0, 100)}`,
        rating: 'negative',
        comment: text.slice(0, 16_000),
        correction: about(text, 40_000),
        labeller: { name: name(text), email: email(text, index) },
      },
    },
  ]
  return { trace_id, span_id, events }
}

export interface HostileProject extends Organization {
  /** In the same order as HOSTILE_TEXTS. */
  places: {
    trace: string
    span: string
    prompt: string
    doc: string
    dataset: string
    item: string
    experiment: string
  }[]
}

const WithId = v.object({ id: v.string() })

/** A project in which nearly every string is hostile, including those that its owner wrote. */
export async function hostileProject(): Promise<HostileProject> {
  const organization = await newOrganization()
  const { project, make, post, call, key, ownerKey } = organization
  const places: HostileProject['places'] = []
  for (const [index, { text }] of HOSTILE_TEXTS.entries()) {
    const { trace_id, span_id, events } = hostileTrace(text, index)
    await post(events)
    const content = { projectSlug: project.slug, content: text, note: name(text) }
    const prompt = await make('/api/prompts', {
      ...content,
      stepId: name(text),
      outputSchema: { type: 'object', title: name(text), properties: { [name(text)]: { description: name(text) } } },
    })
    const doc = await make('/api/knowledge-docs', { ...content, slug: `doc-${index}`, title: name(text) })
    const step = { projectSlug: project.slug, stepId: name(text) }
    const { id: dataset } = v.parse(WithId, await call('PUT', '/api/datasets', step, ownerKey))
    const item = randomUUID()
    const example = { id: item, input: about(text), expected: text, state: { [name(`-${text}`)]: text } }
    await call(
      'POST',
      `/api/datasets/${dataset}/items`,
      { items: [{ ...example, metadata: about(text, 1_000) }] },
      ownerKey,
    )
    const experiment = await make('/api/experiments', {
      projectSlug: project.slug,
      datasetId: dataset,
      runner: 'client',
      name: name(text),
    })
    await call('POST', `/api/experiments/${experiment}/results`, { results: [{ itemId: item, output: `${text}!` }] })
    const webhook = await make('/api/webhooks', {
      url: 'https://hooks.example.com/hostile',
      events: ['span.reviewed'],
      description: name(text),
    })
    await call('PATCH', `/api/webhooks/${webhook}`, { enabled: false }, ownerKey)
    await make('/api/users', { email: `hostile-${index}@example.com`, name: name(text) })
    const agent = { name: name(text), projectSlug: project.slug, scopes: ['read', 'review'], actsAs: 'agent' }
    const agentKey = v.parse(v.object({ key: v.string() }), await call('POST', '/api/api-keys', agent)).key
    await call('PUT', `/api/projects/${project.id}/error-types/hostile_${index}`, {
      name: name(text),
      category: 'AI Error',
      rule: text.slice(0, 1_000),
    })
    await call('POST', `/api/spans/${span_id}/feedback`, { content: text.slice(0, 16_000) })
    await call(
      'PUT',
      `/api/spans/${span_id}/review`,
      {
        decision: 'correct',
        approvedOutput: { suggested: about(text) },
        comment: text.slice(0, 16_000),
        errorType: `hostile_${index}`,
        force: true,
      },
      agentKey,
    )
    await call('POST', `/api/v1/traces/${trace_id}/attribute`, {})
    const { trace } = v.parse(v.object({ trace: WithId }), await call('GET', `/api/spans/${span_id}`))
    places.push({ trace: trace.id, span: span_id, prompt, doc, dataset, item, experiment })
  }
  // Rename only steps that no trace has, so that the other pages still show the hostile names.
  const renamed = HOSTILE_TEXTS.map(({ text }) => [
    `-${text}`.slice(0, MAX_NAME_LENGTH),
    `+${text}`.slice(0, MAX_NAME_LENGTH),
  ])
  await call('PUT', `/api/projects/${project.id}/step-names`, { names: Object.fromEntries(renamed) })
  // Decide on the first span, and leave the others in the queue.
  const reviewed = places[0]?.span
  await call(
    'PUT',
    `/api/spans/${reviewed}/review`,
    {
      decision: 'correct',
      approvedOutput: about(HOSTILE_TEXTS[0]?.text ?? ''),
      comment: HOSTILE_TEXTS[0]?.text,
      errorType: 'hostile_0',
      force: true,
    },
    key,
  )
  await call(
    'PATCH',
    `/api/projects/${project.id}`,
    { name: HOSTILE_TEXTS[0]?.text.slice(0, MAX_NAME_LENGTH) },
    ownerKey,
  )
  return { ...organization, places }
}
