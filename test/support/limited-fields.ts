import { feedbackUuid } from '../../src/domain/ids.ts'
import type { Json } from '../../src/domain/json.ts'
import { utf8Length } from '../../src/domain/text.ts'
import {
  MAX_COMMENT_LENGTH,
  MAX_CONTENT_BYTES,
  MAX_CORRECTION_BYTES,
  MAX_EMAIL_LENGTH,
  MAX_FEEDBACK_ID_LENGTH,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_NOTE_LENGTH,
  MAX_SCHEMA_BYTES,
  MAX_STATE_KEY_LENGTH,
  MAX_TRACE_ID_LENGTH,
} from '../../src/limits.ts'
import { aFeedback, anObservation, aSpan, aTrace } from './builders.ts'
import { stored } from './database.ts'
import { type ApiResponse, admin, type Org } from './org.ts'
import type { newTrace } from './trace.ts'

export type Place = Awaited<ReturnType<typeof newTrace>>

/** A field with a limit, and how to create a value of a given size, send it, and read it back. */
export interface Field {
  name: string
  /** The field's path in error messages. */
  path: string
  max: number
  /** How the error message states the limit, if it doesn't contain `max`. */
  says?: string
  make: (character: string, size: number) => Json
  send: (place: Place, value: Json) => Promise<ApiResponse>
  /** Every value that is currently stored. */
  held: (place: Place) => Promise<unknown[]>
  /** The value that is read back, if it differs from the one sent. */
  shown?: (place: Place, value: Json) => Promise<unknown>
  /** Whether a value replaces the previous one. */
  replaces?: boolean
  /** Whether only some ASCII characters are allowed. */
  isAscii?: boolean
}

export const ASCII = 'x'
export const EMOJI = '😀'
export const alphabets = [
  ['ASCII', ASCII],
  ['4-byte UTF-8', EMOJI],
] as const

/** A string with the given number of characters (code points). */
export const characters = (character: string, length: number) => character.repeat(length)

/** A string with the given number of bytes in UTF-8. */
export function bytes(character: string, size: number): string {
  const each = utf8Length(character)
  return character.repeat(Math.floor(size / each)) + ASCII.repeat(size % each)
}

/** An object with the given number of bytes as JSON. */
export const object = (character: string, size: number) => ({ a: bytes(character, size - '{"a":""}'.length) })

export type EventType = 'trace' | 'span' | 'observation' | 'feedback'
export const PATHS: Record<EventType, string> = {
  trace: '/api/v1/traces',
  span: '/api/v1/spans',
  observation: '/api/v1/observations',
  feedback: '/api/v1/feedback',
}

interface IngestedField extends Omit<Field, 'send'> {
  type: EventType
  body: (place: Place, value: Json) => object
}

/** An ingestion field, sent by itself and in a batch. */
function ingested({ type, body, ...field }: IngestedField): Field[] {
  return [
    {
      ...field,
      name: `${type}: ${field.name}`,
      send: (place, value) => place.org.ingest.post(PATHS[type], body(place, value)),
    },
    {
      ...field,
      name: `${type} in a batch: ${field.name}`,
      path: `events.0.body.${field.path}`,
      send: async (place, value) => inBatch(place.org, type, body(place, value)),
    },
  ]
}

export async function inBatch(org: Org, type: EventType, body: object): Promise<ApiResponse> {
  const response = await org.ingest.post('/api/v1/batch', { events: [{ type, body }] })
  return response.status === 207 ? { ...response, ...response.body.results[0] } : response
}

const freshSlug = () => `s-${crypto.randomUUID()}`
const tracesOf = async ({ org }: Place) => (await org.read.get('/api/traces?projectSlug=support&limit=200')).body.traces
const promptsOf = async ({ org }: Place) => (await org.read.get('/api/prompts?projectSlug=support')).body.prompts
const docsOf = async ({ org }: Place) =>
  (await org.read.get('/api/knowledge-docs?projectSlug=support')).body.knowledgeDocs
const labelersOf = async ({ read }: Place) =>
  (await read()).feedback.flatMap(({ labeller }: { labeller: object | null }) => labeller ?? [])
const pick =
  (name: string) =>
  (items: Record<string, unknown>[]): unknown[] =>
    items.map(item => item[name])

export const aPrompt = (fields: object) => ({
  projectSlug: 'support',
  stepId: freshSlug(),
  content: 'Answer.',
  ...fields,
})
const aDoc = (fields: object) => ({ projectSlug: 'support', slug: freshSlug(), title: 'T', content: 'C', ...fields })

/** The only prompt or doc in a place. Created on first use. */
async function textOf(place: Place, kind: 'prompts' | 'knowledge-docs'): Promise<string> {
  const slot = kind === 'prompts' ? { stepId: 'versioned' } : { slug: 'versioned' }
  const draft = kind === 'prompts' ? aPrompt(slot) : aDoc(slot)
  const list = kind === 'prompts' ? promptsOf : docsOf
  const { status, body } = await place.org.owner.post(`/api/${kind}`, draft)
  if (status === 201) return body.id
  return (await list(place)).find(
    ({ stepId, slug }: { stepId?: string; slug?: string }) => (stepId ?? slug) === 'versioned',
  ).id
}

const versionsOf = (kind: 'prompts' | 'knowledge-docs') => async (place: Place) =>
  (await place.org.read.get(`/api/${kind}/${await textOf(place, kind)}`)).body.versions
const sendVersion = (kind: 'prompts' | 'knowledge-docs', name: string) => async (place: Place, value: Json) =>
  place.org.owner.post(`/api/${kind}/${await textOf(place, kind)}/versions`, { content: 'C', [name]: value })

/** The values of a column in organizations whose slug starts with the slug of the place's organization. */
const organizations =
  (column: 'slug' | 'name') =>
  async ({ org }: Place) =>
    (
      await stored.prepare('select slug, name from organizations where slug like ?').bind(`${org.slug}-%`).all()
    ).results.map(row => row[column])

/** Every field with a limit in characters. */
export const limitedTexts: Field[] = [
  ...ingested({
    name: 'name',
    path: 'name',
    max: MAX_NAME_LENGTH,
    type: 'trace',
    make: characters,
    body: (_, name) => aTrace({ name }),
    held: async place => pick('name')(await tracesOf(place)),
  }),
  ...ingested({
    name: 'trace_id',
    path: 'trace_id',
    max: MAX_TRACE_ID_LENGTH,
    says: '1 to 122',
    isAscii: true,
    type: 'trace',
    make: (character, length) => `trace_${characters(character, length - 'trace_'.length)}`,
    body: (_, trace_id) => aTrace({ trace_id }),
    held: async place => pick('traceId')(await tracesOf(place)),
  }),
  ...ingested({
    name: 'step_id',
    path: 'step_id',
    max: MAX_NAME_LENGTH,
    type: 'span',
    make: characters,
    body: ({ trace_id }, step_id) => aSpan({ trace_id, step_id }),
    held: async ({ read }) => pick('stepId')((await read()).spans),
  }),
  ...ingested({
    name: 'key',
    path: 'key',
    max: MAX_STATE_KEY_LENGTH,
    type: 'observation',
    make: characters,
    body: ({ trace_id }, key) => anObservation({ trace_id, type: 'state', key }),
    held: async ({ span }) => Object.keys((await span()).state),
  }),
  ...ingested({
    name: 'feedback_id',
    path: 'feedback_id',
    max: MAX_FEEDBACK_ID_LENGTH,
    type: 'feedback',
    make: characters,
    body: ({ trace_id }, feedback_id) => aFeedback({ trace_id, feedback_id }),
    held: async ({ read }) => pick('id')((await read()).feedback),
    shown: ({ org }, value) => feedbackUuid(org.project.id, String(value)),
  }),
  ...ingested({
    name: 'comment',
    path: 'comment',
    max: MAX_COMMENT_LENGTH,
    type: 'feedback',
    make: characters,
    body: ({ trace_id }, comment) => aFeedback({ trace_id, comment }),
    held: async ({ read }) => pick('content')((await read()).feedback),
  }),
  ...ingested({
    name: 'labeller.name',
    path: 'labeller.name',
    max: MAX_NAME_LENGTH,
    type: 'feedback',
    make: characters,
    body: ({ trace_id }, name) => aFeedback({ trace_id, labeller: { name } }),
    held: async place => pick('name')(await labelersOf(place)),
  }),
  ...ingested({
    name: 'labeller.email',
    path: 'labeller.email',
    max: MAX_EMAIL_LENGTH,
    type: 'feedback',
    make: (character, length) => `${characters(character, length - 2)}@b`,
    body: ({ trace_id }, email) => aFeedback({ trace_id, labeller: { email } }),
    held: async place => pick('email')(await labelersOf(place)),
  }),
  {
    name: 'organization: name',
    path: 'name',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, name) =>
      admin().post('/api/orgs', { slug: `${org.slug}-${crypto.randomUUID().slice(0, 8)}`, name }),
    held: organizations('name'),
  },
  {
    name: 'project: name',
    path: 'name',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, name) => org.owner.post('/api/projects', { slug: freshSlug(), name }),
    held: async ({ org }) => pick('name')((await org.owner.get('/api/projects')).body.projects),
  },
  {
    name: 'project: name, changed',
    path: 'name',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, name) => org.owner.patch(`/api/projects/${org.project.id}`, { name }),
    held: async ({ org }) => pick('name')((await org.owner.get('/api/projects')).body.projects),
    replaces: true,
  },
  {
    name: 'API key: name',
    path: 'name',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, name) => org.owner.post('/api/api-keys', { name, scopes: ['read'] }),
    held: async ({ org }) => pick('name')((await org.owner.get('/api/api-keys')).body.apiKeys),
  },
  {
    name: 'user: name',
    path: 'name',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, name) => org.owner.post('/api/users', { email: `${freshSlug()}@example.com`, name }),
    held: async ({ org }) => pick('name')((await org.owner.get('/api/users')).body.users),
  },
  {
    name: 'user: email',
    path: 'email',
    max: MAX_EMAIL_LENGTH,
    make: (character, length) => `${characters(character, length - 2)}@b`,
    send: ({ org }, email) => org.owner.post('/api/users', { email, name: 'Ada' }),
    held: async ({ org }) => pick('email')((await org.owner.get('/api/users')).body.users),
  },
  {
    name: 'prompt: stepId',
    path: 'stepId',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, stepId) => org.owner.post('/api/prompts', aPrompt({ stepId })),
    held: async place => pick('stepId')(await promptsOf(place)),
  },
  {
    name: 'prompt version: note',
    path: 'note',
    max: MAX_NOTE_LENGTH,
    make: characters,
    send: sendVersion('prompts', 'note'),
    held: async place => pick('note')(await versionsOf('prompts')(place)),
  },
  {
    name: 'knowledge doc: title',
    path: 'title',
    max: MAX_NAME_LENGTH,
    make: characters,
    send: ({ org }, title) => org.owner.post('/api/knowledge-docs', aDoc({ title })),
    held: async place => pick('title')(await docsOf(place)),
  },
  {
    name: 'knowledge doc version: note',
    path: 'note',
    max: MAX_NOTE_LENGTH,
    make: characters,
    send: sendVersion('knowledge-docs', 'note'),
    held: async place => pick('note')(await versionsOf('knowledge-docs')(place)),
  },
  {
    name: 'organization: slug',
    path: 'slug',
    max: 63,
    isAscii: true,
    make: (_, length) => length,
    send: ({ org }, length) =>
      admin().post('/api/orgs', { slug: `${org.slug}-`.padEnd(Number(length), 'x'), name: 'N' }),
    held: organizations('slug'),
    shown: async ({ org }, length) => `${org.slug}-`.padEnd(Number(length), 'x'),
  },
  {
    name: 'project: slug',
    path: 'slug',
    max: 63,
    isAscii: true,
    make: characters,
    send: ({ org }, slug) => org.owner.post('/api/projects', { slug, name: 'N' }),
    held: async ({ org }) => pick('slug')((await org.owner.get('/api/projects')).body.projects),
  },
  {
    name: 'knowledge doc: slug',
    path: 'slug',
    max: 63,
    isAscii: true,
    make: characters,
    send: ({ org }, slug) => org.owner.post('/api/knowledge-docs', aDoc({ slug })),
    held: async place => pick('slug')(await docsOf(place)),
  },
]

/** Every field with a limit in bytes. */
export const limitedSizes: Field[] = [
  ...ingested({
    name: 'metadata',
    path: 'metadata',
    max: MAX_METADATA_BYTES,
    type: 'trace',
    make: object,
    body: (_, metadata) => aTrace({ metadata }),
    held: async place => pick('metadata')(await tracesOf(place)),
  }),
  ...ingested({
    name: 'metadata',
    path: 'metadata',
    max: MAX_METADATA_BYTES,
    type: 'span',
    make: object,
    body: ({ trace_id }, metadata) => aSpan({ trace_id, metadata }),
    held: async ({ read }) => pick('metadata')((await read()).spans),
  }),
  ...ingested({
    name: 'correction',
    path: 'correction',
    max: MAX_CORRECTION_BYTES,
    type: 'feedback',
    make: object,
    body: ({ trace_id }, correction) => aFeedback({ trace_id, correction }),
    held: async ({ read }) => pick('correction')((await read()).feedback),
  }),
  {
    name: 'prompt: content',
    path: 'content',
    max: MAX_CONTENT_BYTES,
    make: bytes,
    send: ({ org }, content) => org.owner.post('/api/prompts', aPrompt({ content })),
    held: async place => pick('content')(await promptsOf(place)),
  },
  {
    name: 'prompt version: content',
    path: 'content',
    max: MAX_CONTENT_BYTES,
    make: bytes,
    send: sendVersion('prompts', 'content'),
    held: async place => pick('content')(await versionsOf('prompts')(place)),
  },
  {
    name: 'prompt: outputSchema',
    path: 'outputSchema',
    max: MAX_SCHEMA_BYTES,
    make: object,
    send: ({ org }, outputSchema) => org.owner.post('/api/prompts', aPrompt({ outputSchema })),
    held: async place => pick('outputSchema')(await promptsOf(place)),
  },
  {
    name: 'prompt version: outputSchema',
    path: 'outputSchema',
    max: MAX_SCHEMA_BYTES,
    make: object,
    send: sendVersion('prompts', 'outputSchema'),
    held: async place => pick('outputSchema')(await versionsOf('prompts')(place)),
  },
  {
    name: 'knowledge doc: content',
    path: 'content',
    max: MAX_CONTENT_BYTES,
    make: bytes,
    send: ({ org }, content) => org.owner.post('/api/knowledge-docs', aDoc({ content })),
    held: async place => pick('content')(await docsOf(place)),
  },
  {
    name: 'knowledge doc version: content',
    path: 'content',
    max: MAX_CONTENT_BYTES,
    make: bytes,
    send: sendVersion('knowledge-docs', 'content'),
    held: async place => pick('content')(await versionsOf('knowledge-docs')(place)),
  },
]
