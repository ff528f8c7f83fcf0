import type { TextKind } from '../../src/domain/versioned-text.ts'
import { stored } from './database.ts'
import type { ApiResponse, Client, Org } from './org.ts'

/** The differences between prompts and knowledge docs in the API. */
export interface KindOfText {
  kind: TextKind
  path: string
  /** The response field that contains the list. */
  list: 'prompts' | 'knowledgeDocs'
  /** The field for a prompt's or doc's name in its project. */
  named: 'stepId' | 'slug'
  /** Fields of a new prompt or doc besides its project, name, and content. */
  more: object
  itemFields: string[]
  detailFields: string[]
  versionFields: string[]
  /** Additional fields of a version in the response for a single prompt or doc. */
  countFields: string[]
}

const ITEM = ['id', 'versionId', 'versionNumber', 'versionCreatedAt', 'content', 'createdAt', 'updatedAt']
const VERSION = ['id', 'number', 'content', 'note', 'isActive', 'createdAt']

const prompts: KindOfText = {
  kind: 'prompt',
  path: '/api/prompts',
  list: 'prompts',
  named: 'stepId',
  more: {},
  itemFields: [...ITEM, 'stepId', 'outputSchema'],
  detailFields: ['id', 'stepId', 'outputSchema', 'versions', 'gate', 'watch'],
  versionFields: [...VERSION, 'outputSchema'],
  countFields: ['accepted', 'corrected', 'wasActive', 'suggestedFor'],
}

const knowledgeDocs: KindOfText = {
  kind: 'knowledge_doc',
  path: '/api/knowledge-docs',
  list: 'knowledgeDocs',
  named: 'slug',
  more: { title: 'Returns' },
  itemFields: [...ITEM, 'slug', 'title'],
  detailFields: ['id', 'slug', 'title', 'versions'],
  versionFields: VERSION,
  countFields: [],
}

export const kindsOfText = [prompts, knowledgeDocs] as const

/** The other kind. Its names are independent of this kind's. */
export const otherKind = ({ kind }: KindOfText): KindOfText => (kind === 'prompt' ? knowledgeDocs : prompts)

/** A valid body that creates a prompt or doc, with some fields changed. */
export const aText = ({ named, more }: KindOfText, name: string, fields: object = {}) => ({
  projectSlug: 'support',
  [named]: name,
  content: 'First',
  ...more,
  ...fields,
})

/** Creates a prompt or doc, and returns functions that call the API for it. */
export async function newText(kind: KindOfText, org: Org, name = 'answer', fields: object = {}) {
  const created = await org.owner.post(kind.path, aText(kind, name, fields))
  if (created.status !== 201) throw new Error(`${kind.path} returned ${created.status}: ${created.body.error}`)
  const path = `${kind.path}/${created.body.id}`
  return {
    created: created.body,
    id: String(created.body.id),
    path,
    /** Adds a version, which becomes active unless the body says otherwise. */
    add: (body: object, by: Client = org.owner): Promise<ApiResponse> =>
      by.post(`${path}/versions`, { activate: true, ...body }),
    activate: (versionId: string, by: Client = org.owner): Promise<ApiResponse> =>
      by.put(`${path}/active-version`, { versionId }),
    /** The prompt's or doc's item in the project's list. */
    listed: async () => {
      const { body } = await org.read.get(`${kind.path}?projectSlug=support&${kind.named}=${encodeURIComponent(name)}`)
      return body[kind.list][0]
    },
    detail: async () => (await org.read.get(path)).body,
  }
}

/** The active versions, according to the response for a single prompt or doc. */
export const activeIn = ({ versions }: { versions: { id: string; isActive: boolean }[] }): string[] =>
  versions.filter(({ isActive }) => isActive).map(({ id }) => id)

/** The versions and activations in D1, in order. */
export async function storedText(textId: string) {
  const [versions, activations] = await Promise.all([
    stored
      .prepare(
        `select v.id, v.is_active as isActive from text_versions v
       join versioned_texts t on t.key = v.text_key where t.id = ? order by v.key`,
      )
      .bind(textId)
      .all<{ id: string; isActive: number }>(),
    stored
      .prepare(
        `select v.id, a.activated_at as activatedAt from text_activations a join text_versions v on v.key = a.version_key
       join versioned_texts t on t.key = a.text_key where t.id = ? order by a.activated_at, a.version_key`,
      )
      .bind(textId)
      .all<{ id: string; activatedAt: number }>(),
  ])
  return {
    versions: versions.results.map(({ id }) => id),
    active: versions.results.filter(({ isActive }) => isActive === 1).map(({ id }) => id),
    activations: activations.results,
  }
}

/** Runs `act` concurrently, `count` times. */
export const times = <T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)))

/** The number of responses by status. */
export const statusCounts = (responses: ApiResponse[]) =>
  Object.entries(Object.groupBy(responses, ({ status }) => status)).map(([status, all]) => [status, all?.length])
