import { call } from '../api/client.ts'
import type { Gate, Json, KnowledgeDoc, KnowledgeDocs, Prompt, Prompts, Watch } from '../api/wire.ts'

/*
 * These pages treat prompts and knowledge docs alike: as texts with versions, one of which is active. This file
 * contains the differences.
 */

/** A text in its project's list, with its active version. */
export interface TextItem {
  id: string
  /** A prompt's step or a knowledge doc's slug. */
  name: string
  title: string | null
  content: string
  /** The active version's number. */
  versionNumber: number
  /** When the active version was written. An imported version may be older than its activation. */
  versionCreatedAt: string
}

interface TextPage {
  items: TextItem[]
  nextCursor: string | null
}

export interface Version {
  id: string
  /** 1 for the oldest version. */
  number: number
  content: string
  /** Null if there is none. */
  outputSchema: Json | null
  note: string | null
  isActive: boolean
  createdAt: string
  /** Whether the version is or was active. Always false for knowledge docs, which don't need it. */
  wasActive: boolean
  /** The problem for which a model wrote the version; null if a person or a pipeline wrote it. */
  suggestedFor: string | null
  /** Decisions on the version's outputs; null if they aren't counted. */
  decided: { accepted: number; corrected: number } | null
}

export interface VersionedText {
  id: string
  name: string
  title: string | null
  /** Newest first. */
  versions: Version[]
  /** The gate that a version must meet before it becomes active; null if there's none. */
  gate: Gate | null
  /** How a prompt's active version compares with the previous one; null if there's no comparison. */
  watch: Watch | null
}

export interface TextKind {
  key: 'prompt' | 'knowledge-doc'
  /** The list's path in the app. */
  path: string
  /** The list's path in the API. */
  api: string
  many: string
  one: string
  /** The field that names a text in its project. */
  name: { field: string; label: string; description: string; example: string }
  hasTitle: boolean
  hasSchema: boolean
  /** What texts of this kind are for. */
  purpose: string
  /** Who reads the active version, and when. */
  readers: string
  exampleContent: string
  readList: (query: { projectSlug: string; cursor: string | null }, signal: AbortSignal) => Promise<TextPage>
  read: (id: string, signal: AbortSignal) => Promise<VersionedText>
}

export const PROMPTS: TextKind = {
  key: 'prompt',
  path: '/prompts',
  api: '/api/prompts',
  many: 'Prompts',
  one: 'prompt',
  name: {
    field: 'stepId',
    label: 'Step',
    description: "The pipeline step that uses the prompt. It must match the step_id of the step's spans.",
    example: 'classify',
  },
  hasTitle: false,
  hasSchema: true,
  purpose: 'Each pipeline step has one prompt. Pipelines request its active version before they run.',
  readers: 'Pipelines get it the next time they request the prompt.',
  exampleContent: 'Classify the message as one of: billing, delivery, other.',
  readList: async (query, signal) => {
    const { prompts, nextCursor } = await call<Prompts>('/api/prompts', { query, signal })
    const items = prompts.map(({ id, stepId, content, versionNumber, versionCreatedAt }) => ({
      id,
      name: stepId,
      title: null,
      content,
      versionNumber,
      versionCreatedAt,
    }))
    return { items, nextCursor }
  },
  read: async (id, signal) => {
    const { stepId, versions, gate, watch } = await call<Prompt>(`/api/prompts/${id}`, { signal })
    return { id, name: stepId, title: null, versions: newestFirst(versions), gate, watch }
  },
}

export const KNOWLEDGE_DOCS: TextKind = {
  key: 'knowledge-doc',
  path: '/knowledge-docs',
  api: '/api/knowledge-docs',
  many: 'Knowledge docs',
  one: 'knowledge doc',
  name: {
    field: 'slug',
    label: 'Slug',
    description: "Lowercase letters, digits, and hyphens. You can't change it later.",
    example: 'refund-policy',
  },
  hasTitle: true,
  hasSchema: false,
  purpose:
    'Policies, guidelines, and definitions that pipeline steps rely on. Attribution checks outputs against them.',
  readers: 'Pipelines get it the next time they request the doc. New traces are checked against it.',
  exampleContent: 'Refunds are available within 30 days of delivery.',
  readList: async (query, signal) => {
    const { knowledgeDocs, nextCursor } = await call<KnowledgeDocs>('/api/knowledge-docs', { query, signal })
    const items = knowledgeDocs.map(({ id, slug, title, content, versionNumber, versionCreatedAt }) => ({
      id,
      name: slug,
      title,
      content,
      versionNumber,
      versionCreatedAt,
    }))
    return { items, nextCursor }
  },
  read: async (id, signal) => {
    const { slug, title, versions } = await call<KnowledgeDoc>(`/api/knowledge-docs/${id}`, { signal })
    return { id, name: slug, title, versions: newestFirst(versions), gate: null, watch: null }
  },
}

/** A version of either kind as the API returns it. */
type WireVersion = KnowledgeDoc['versions'][number] & {
  outputSchema?: Json
  accepted?: number
  corrected?: number
  wasActive?: boolean
  suggestedFor?: string | null
}

const newestFirst = (versions: readonly WireVersion[]): Version[] =>
  versions
    .map(
      ({
        id,
        number,
        content,
        outputSchema = null,
        note,
        isActive,
        createdAt,
        accepted,
        corrected,
        wasActive = false,
        suggestedFor = null,
      }) => ({
        id,
        number,
        content,
        outputSchema: isEmptyObject(outputSchema) ? null : outputSchema,
        note: note || null,
        isActive,
        createdAt,
        wasActive,
        suggestedFor,
        decided: accepted === undefined || corrected === undefined ? null : { accepted, corrected },
      }),
    )
    .toReversed()

const isEmptyObject = (value: Json): boolean => value instanceof Object && Object.keys(value).length === 0
