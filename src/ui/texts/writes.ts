import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { TextKind } from './kinds.ts'

/** A new version from the form. */
interface NewVersion {
  content: string
  /** Undefined if the kind has no schema. */
  outputSchema?: unknown
  note: string
  activate: boolean
}

/** A text with its first version. */
interface NewText extends Omit<NewVersion, 'activate'> {
  projectSlug: string
  name: string
  title: string
}

interface Made {
  id: string
}

export const createText = (kind: TextKind, { projectSlug, name, title, content, outputSchema, note }: NewText) =>
  call<Made>(kind.api, {
    method: 'POST',
    body: {
      projectSlug,
      [kind.name.field]: name,
      ...(kind.hasTitle && { title }),
      content,
      ...(kind.hasSchema && { outputSchema }),
      ...(note !== '' && { note }),
    },
  })

export const createVersion = (
  kind: TextKind,
  id: string,
  { content, outputSchema, note, activate }: NewVersion,
): Promise<Made> =>
  call<Made>(`${kind.api}/${id}/versions`, {
    method: 'POST',
    body: { content, ...(kind.hasSchema && { outputSchema }), ...(note !== '' && { note }), activate },
  })

export const activateVersion = (kind: TextKind, id: string, versionId: string) =>
  call(`${kind.api}/${id}/active-version`, { method: 'PUT', body: { versionId } })

export const changeTitle = (kind: TextKind, id: string, title: string) =>
  call(`${kind.api}/${id}`, { method: 'PATCH', body: { title } })

export const deleteText = (kind: TextKind, id: string) => call<Made>(`${kind.api}/${id}`, { method: 'DELETE' })

/** Refetches a text and its list; resolves when both are loaded. */
export const refreshTexts = (kind: TextKind, id: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['text', kind.key, id] }),
    queryClient.invalidateQueries({ queryKey: ['texts', kind.key] }),
  ])
