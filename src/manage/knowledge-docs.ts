import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { DOC_ID, DOC_VERSION_ID } from '../api/story.ts'
import { newId } from '../domain/ids.ts'
import { Slug, Uuid } from '../http/atoms.ts'
import { conflict, notFound } from '../http/errors.ts'
import { doc, docVersion } from '../read/examples.ts'
import { KnowledgeDoc, KnowledgeDocVersion, toKnowledgeDoc, toKnowledgeDocVersion } from '../read/text-wire.ts'
import { requireText } from '../read/texts.ts'
import { changingTexts } from '../store/texts/near-texts.ts'
import { addText, changeTitle, findTextHead } from '../store/texts/versioned-texts.ts'
import {
  activateText,
  addTextVersion,
  Content,
  IsToBeActive,
  MAX_TEXT_BODY_BYTES,
  NO_VERSION,
  Note,
  namedProject,
  ProjectSlug,
  removeText,
  TOO_MUCH,
  VersionChoice,
  versionDraft,
  WrittenAt,
} from './texts.ts'
import { Name } from './wire.ts'

const TAKEN = 'A knowledge doc with this slug already exists'

export const createKnowledgeDoc = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/knowledge-docs',
  summary: 'Create a knowledge doc',
  description: 'The first version of the doc becomes active.',
  scope: 'manage',
  body: v.strictObject({
    projectSlug: ProjectSlug,
    slug: Slug,
    title: Name,
    content: Content,
    note: v.optional(Note),
    createdAt: v.optional(WrittenAt),
  }),
  maxBytes: MAX_TEXT_BODY_BYTES,
  errors: { 404: 'Not found', 409: TAKEN },
  location: 201,
  responses: { 201: KnowledgeDoc },
  example: {
    body: { projectSlug: 'support', slug: doc.slug, title: doc.title, content: doc.content },
    answers: { 201: doc },
  },
}).handle(async context => {
  const { body, store, act } = context
  const project = await namedProject(context, body.projectSlug)
  const fields = { id: newId(), kind: 'knowledge_doc', name: body.slug, title: body.title } as const
  const version = versionDraft(body, context)
  const doc = await changingTexts(store, () => addText(store, act, project, { ...fields, version }))
  if (typeof doc === 'string') throw conflict(TAKEN, 'slug')
  return { status: 201, body: toKnowledgeDoc(doc), location: `/api/knowledge-docs/${doc.id}` }
})

export const createKnowledgeDocVersion = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/knowledge-docs/{docId}/versions',
  summary: 'Create a version of a knowledge doc',
  scope: 'manage',
  params: v.object({ docId: Uuid }),
  body: v.strictObject({
    content: Content,
    activate: v.optional(IsToBeActive, false),
    note: v.optional(Note),
    createdAt: v.optional(WrittenAt),
  }),
  maxBytes: MAX_TEXT_BODY_BYTES,
  errors: { 422: TOO_MUCH },
  location: 201,
  responses: { 201: KnowledgeDocVersion },
  example: {
    params: { docId: DOC_ID },
    body: { content: doc.content },
    answers: { 201: { ...docVersion, isActive: false } },
  },
}).handle(async context => {
  const { params, body, store, act } = context
  const named = { kind: 'knowledge_doc', id: params.docId } as const
  const doc = await requireText(context, named, await findTextHead(store, named))
  const version = await addTextVersion(store, act, doc, versionDraft(body, context), body.activate)
  return { status: 201, body: toKnowledgeDocVersion(version), location: `/api/knowledge-docs/${params.docId}` }
})

export const activateKnowledgeDocVersion = endpoint({
  family: 'manage',
  method: 'PUT',
  path: '/api/knowledge-docs/{docId}/active-version',
  summary: 'Activate a version of a knowledge doc',
  description: 'To roll back, activate an earlier version.',
  scope: 'manage',
  params: v.object({ docId: Uuid }),
  body: VersionChoice,
  errors: { 422: NO_VERSION },
  responses: { 200: KnowledgeDoc },
  example: {
    params: { docId: DOC_ID },
    body: { versionId: DOC_VERSION_ID },
    answers: { 200: doc },
  },
}).handle(async context => {
  const { params, body, store, act } = context
  const named = { kind: 'knowledge_doc', id: params.docId } as const
  const doc = await requireText(context, named, await findTextHead(store, named))
  return { status: 200, body: toKnowledgeDoc(await activateText(store, act, doc, body.versionId)) }
})

export const updateKnowledgeDoc = endpoint({
  family: 'manage',
  method: 'PATCH',
  path: '/api/knowledge-docs/{docId}',
  summary: "Update a knowledge doc's title",
  scope: 'manage',
  params: v.object({ docId: Uuid }),
  body: v.strictObject({ title: v.optional(Name) }),
  responses: { 200: KnowledgeDoc },
  example: {
    params: { docId: DOC_ID },
    body: { title: doc.title },
    answers: { 200: doc },
  },
}).handle(async context => {
  const { params, body, store, act } = context
  const named = { kind: 'knowledge_doc', id: params.docId } as const
  const head = await requireText(context, named, await findTextHead(store, named))
  const doc = await changingTexts(store, () => changeTitle(store, act, head, body.title))
  if (!doc) throw notFound()
  return { status: 200, body: toKnowledgeDoc(doc) }
})

export const deleteKnowledgeDoc = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/knowledge-docs/{docId}',
  summary: 'Delete a knowledge doc',
  description: 'Also deletes all versions of the doc. Spans keep the IDs of the versions they used.',
  scope: 'manage',
  params: v.object({ docId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { docId: DOC_ID },
    answers: { 200: { id: DOC_ID } },
  },
}).handle(async context => {
  const id = context.params.docId
  await removeText(context, { kind: 'knowledge_doc', id })
  return { status: 200, body: { id } }
})
