import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { DOC_DRAFT_ID, DOC_ID, DOC_VERSION_ID, PROJECT_ID } from '../api/story.ts'
import { Uuid } from '../http/atoms.ts'
import { NextCursor, pageParameters } from '../http/cursor.ts'
import { findText } from '../store/texts/versioned-texts.ts'
import { doc, docVersion } from './examples.ts'
import { projectSelector, selectedProject } from './project.ts'
import { KnowledgeDoc, KnowledgeDocDetail, toKnowledgeDoc, toKnowledgeDocDetail } from './text-wire.ts'
import { FRESHNESS, pageOfTexts, requireText } from './texts.ts'
import { VersionDiff, versionDiff } from './version-diff.ts'

export const listKnowledgeDocs = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/knowledge-docs',
  summary: "List a project's knowledge docs, sorted by slug",
  description: FRESHNESS,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    slug: v.optional(v.pipe(v.string(), v.metadata({ description: 'Only this doc' }))),
    ...pageParameters,
  }),
  etag: 'body',
  reads: 'memory',
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ knowledgeDocs: v.array(KnowledgeDoc), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { knowledgeDocs: [doc], nextCursor: null } },
  },
}).handle(async context => {
  const { query } = context
  const project = await selectedProject(context, query)
  const { items, nextCursor } = await pageOfTexts(context, project, 'knowledge_doc', { ...query, name: query.slug })
  return { status: 200, body: { knowledgeDocs: items.map(toKnowledgeDoc), nextCursor } }
})

export const getKnowledgeDoc = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/knowledge-docs/{docId}',
  summary: 'Get a knowledge doc',
  description: 'Includes every version, oldest first.',
  scope: 'read',
  params: v.object({ docId: Uuid }),
  responses: { 200: KnowledgeDocDetail },
  example: {
    params: { docId: DOC_ID },
    answers: { 200: { id: DOC_ID, slug: doc.slug, title: doc.title, versions: [docVersion] } },
  },
}).handle(async context => {
  const named = { kind: 'knowledge_doc', id: context.params.docId } as const
  const text = await requireText(context, named, await findText(context.store, named))
  return { status: 200, body: toKnowledgeDocDetail(text) }
})

export const diffKnowledgeDocVersions = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/knowledge-docs/{docId}/versions/{a}/diff/{b}',
  summary: 'Compare two versions of a knowledge doc',
  scope: ['read', 'manage'],
  params: v.object({ docId: Uuid, a: Uuid, b: Uuid }),
  responses: { 200: VersionDiff },
  example: {
    params: { docId: DOC_ID, a: DOC_VERSION_ID, b: DOC_DRAFT_ID },
    answers: {
      200: {
        lines: [
          { op: 'remove', text: 'Every device has a warranty of 12 months.' },
          { op: 'add', text: doc.content },
        ],
        isMinimal: true,
        schema: [],
      },
    },
  },
}).handle(async context => {
  const { docId: id, ...versions } = context.params
  return { status: 200, body: await versionDiff(context, { kind: 'knowledge_doc', id }, versions) }
})
