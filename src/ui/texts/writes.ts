import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Gate } from '../api/wire.ts'
import type { TextKind } from './kinds.ts'
import { gatePath } from './queries.ts'

/** A new version from the form. */
interface NewVersion {
  content: string
  /** Undefined if the kind has no schema. */
  outputSchema?: unknown
  note: string
}

/** A text with its first version. */
interface NewText extends NewVersion {
  projectSlug: string
  name: string
  title: string
  /** A person's reason for overriding the step's gate. A step can have a gate even without a prompt. */
  reason: string
}

interface Made {
  id: string
}

export const createText = (
  kind: TextKind,
  { projectSlug, name, title, content, outputSchema, note, reason }: NewText,
) =>
  call<Made>(kind.api, {
    method: 'POST',
    body: {
      projectSlug,
      [kind.name.field]: name,
      ...(kind.hasTitle && { title }),
      content,
      ...(kind.hasSchema && { outputSchema }),
      ...(note !== '' && { note }),
      ...(reason !== '' && { override: reason }),
    },
  })

export const createVersion = (kind: TextKind, id: string, { content, outputSchema, note }: NewVersion): Promise<Made> =>
  call<Made>(`${kind.api}/${id}/versions`, {
    method: 'POST',
    body: { content, ...(kind.hasSchema && { outputSchema }), ...(note !== '' && { note }) },
  })

/** Activates a version. A reason overrides the step's gate. */
export const activateVersion = (kind: TextKind, id: string, versionId: string, reason = '') =>
  call(`${kind.api}/${id}/active-version`, {
    method: 'PUT',
    body: { versionId, ...(reason !== '' && { override: reason }) },
  })

/** What a gate requires. A condition that is null doesn't apply. */
export type GateConditions = Omit<Gate, 'id' | 'stepId' | 'updatedAt'>

export const saveGate = (projectId: string, stepId: string, conditions: GateConditions) =>
  call<Gate>(gatePath(projectId, stepId), { method: 'PUT', body: conditions })

export const deleteGate = (projectId: string, stepId: string) => call(gatePath(projectId, stepId), { method: 'DELETE' })

export const changeTitle = (kind: TextKind, id: string, title: string) =>
  call(`${kind.api}/${id}`, { method: 'PATCH', body: { title } })

export const deleteText = (kind: TextKind, id: string) => call<Made>(`${kind.api}/${id}`, { method: 'DELETE' })

/** Refetches a text and its list; resolves when both are loaded. */
export const refreshTexts = (kind: TextKind, id: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['text', kind.key, id] }),
    queryClient.invalidateQueries({ queryKey: ['texts', kind.key] }),
    queryClient.invalidateQueries({ queryKey: ['gate'] }),
  ])
