import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { requirePerson } from '../auth/require-person.ts'
import { requireProject } from '../auth/require-project.ts'
import { newId } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import type { TextKind } from '../domain/versioned-text.ts'
import { Slug, text, textOfBytes, timestamp, Uuid } from '../http/atoms.ts'
import { badRequest, gateNotMet, notFound, unprocessable } from '../http/errors.ts'
import {
  ENVELOPE_BYTES,
  escaped,
  MAX_CONTENT_BYTES,
  MAX_NOTE_LENGTH,
  MAX_SCHEMA_BYTES,
  MAX_VERSIONS_BYTES,
} from '../limits.ts'
import type { Act } from '../store/accounts/audit.ts'
import { findProject, type Project } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import { hasNoGate, stepOfPrompt } from '../store/experiments/gates.ts'
import { changingTexts } from '../store/texts/near-texts.ts'
import {
  activateVersion,
  addVersion,
  type Barrier,
  deleteText,
  findTextHead,
  type TextHead,
  type TextVersion,
  type VersionDraft,
} from '../store/texts/versioned-texts.ts'

/* Shared by the endpoints that write prompts and knowledge docs. */

export const Content = textOfBytes(MAX_CONTENT_BYTES)
export const Note = v.pipe(text(0, MAX_NOTE_LENGTH), v.metadata({ description: 'The reason for this version' }))
export const ProjectSlug = v.pipe(Slug, v.metadata({ examples: ['support'] }))
export const IsToBeActive = v.pipe(
  v.boolean(),
  v.metadata({ description: 'Whether to activate this version immediately' }),
)
export const WrittenAt = timestamp(
  "When the version was written. Set this to import a version from elsewhere. Only people can set it, and it can't be in the future. It doesn't affect when the version becomes active.",
)
export const VersionChoice = v.strictObject({ versionId: Uuid })

export const MAX_TEXT_BODY_BYTES = escaped(MAX_CONTENT_BYTES + MAX_SCHEMA_BYTES) + ENVELOPE_BYTES

export const TOO_MUCH = `All versions together are limited to ${MAX_VERSIONS_BYTES} bytes as JSON`
export const HAS_GATE = 'The step has a gate, so a new version has to meet it before it can become active'
export const NO_VERSION = 'There is no version with this ID'

/** The project with the slug from a body. 404 if it doesn't exist, 403 if the key can't access it. */
export async function namedProject(
  { caller, store }: { caller: Caller; store: Store },
  projectSlug: string,
): Promise<Project> {
  const project = await findProject(store, { slug: projectSlug })
  if (!project) throw notFound()
  requireProject(caller, project.key)
  return project
}

/** A version as sent in a body. */
interface VersionBody {
  content: string
  outputSchema?: JsonObject | undefined
  note?: string | undefined
  createdAt?: number | undefined
}

/** Converts the version in a body to the store's form. 403 if the body sets a time and the caller isn't a person. */
export function versionDraft(
  { content, outputSchema, note, createdAt }: VersionBody,
  { caller, now }: { caller: Caller; now: number },
): VersionDraft {
  if (createdAt !== undefined) {
    requirePerson(caller)
    if (createdAt > now) throw badRequest('must not be in the future', 'createdAt')
  }
  return {
    id: newId(),
    content,
    outputSchema: outputSchema === undefined ? null : JSON.stringify(outputSchema),
    note: note ?? null,
    createdAt: createdAt ?? now,
  }
}

/**
 * Adds a version. 422 if all versions would be too large for one response, 404 if the text has been deleted, 409 if the
 * version should become active but has to meet a gate first.
 */
export async function addTextVersion(
  store: Store,
  act: Act,
  text: TextHead,
  draft: VersionDraft,
  isToBeActive: boolean,
): Promise<TextVersion> {
  const holds = isToBeActive && text.kind === 'prompt' ? hasNoGate(stepOfPrompt(text)) : undefined
  const version = await changingTexts(store, () => addVersion(store, act, text, draft, isToBeActive, holds))
  if (version === 'refused') throw gateNotMet(HAS_GATE, [{ path: 'activate', message: HAS_GATE }])
  if (version === 'text_missing') throw notFound()
  if (version === 'too_large') throw unprocessable(TOO_MUCH, 'content')
  return version
}

/** Activates a version. 422 if the text has no such version, 404 if the text has been deleted. */
export async function activateText(store: Store, act: Act, text: TextHead, versionId: string, barrier?: Barrier) {
  const active = await changingTexts(store, () => activateVersion(store, act, text, versionId, barrier))
  if (active === 'text_missing') throw notFound()
  if (active === 'version_missing') throw unprocessable(NO_VERSION, 'versionId')
  return active
}

/** Deletes a text. 404 if the organization doesn't have it, 403 if the key can't access its project. */
export async function removeText(
  { caller, store, act }: { caller: Caller; store: Store; act: Act },
  named: { kind: TextKind; id: string },
): Promise<void> {
  const text = await findTextHead(store, named)
  if (!text) throw notFound()
  requireProject(caller, text.projectKey)
  await changingTexts(store, () => deleteText(store, act, text))
}
