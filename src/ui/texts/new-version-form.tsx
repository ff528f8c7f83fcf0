import { Group, SegmentedControl, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { withParameters } from '../parts/parameters.ts'
import { TextLink } from '../parts/text-link.tsx'
import { Warning } from '../parts/warning.tsx'
import { changeProblem } from '../problems/writes.tsx'
import { useProject } from '../session/project.ts'
import { EMPTY_DRAFT } from './draft.ts'
import { DraftChanges } from './draft-changes.tsx'
import type { TextKind, VersionedText } from './kinds.ts'
import { schemaText } from './schema-text.ts'
import { ContentFields, NoteField, TextForm } from './text-form.tsx'
import { useTextForm } from './use-text-form.ts'
import { createVersion, refreshTexts } from './writes.ts'

/**
 * Creates a version, starting from the active one. The draft survives a reload. If the URL names a problem, the version
 * is linked to it.
 */
export function NewVersionForm({ kind, text }: { kind: TextKind; text: VersionedText }) {
  const [parameters, setParameters] = useSearchParams()
  const [, navigate] = useLocation()
  const project = useProject()
  const [isComparing, setComparing] = useState(false)
  const problemId = parameters.get('problem')
  const problemPath = problemId !== null && pathWith(`/problems/${problemId}`, { project })
  const active = text.versions.find(({ isActive }) => isActive)
  const number = (text.versions[0]?.number ?? 0) + 1
  const form = useTextForm({
    key: `${kind.key}.${text.id}`,
    initial: {
      ...EMPTY_DRAFT,
      content: active?.content ?? '',
      schema: schemaText(active?.outputSchema ?? null),
      baseId: active?.id ?? '',
    },
    send: ({ content, note }, outputSchema) => createVersion(kind, text.id, { content, note, outputSchema }),
    onDone: async ({ id }, _sent, discard) => {
      discard()
      await Promise.all([refreshTexts(kind, text.id), problemId !== null && linkVersion(problemId, id)])
      notifications.show({ message: `Version ${number} created.` })
      if (problemPath) navigate(problemPath)
      else setParameters(withParameters({ version: id, new: null }))
    },
  })
  const { draft, isChanged } = form
  const base = text.versions.find(({ id }) => id === draft.baseId)
  return (
    <TextForm
      form={form}
      act={`Save version ${number}`}
      faultTitle="Couldn't create this version"
      onCancel={() => (problemPath ? navigate(problemPath) : setParameters(withParameters({ new: null })))}
    >
      <Group justify="space-between">
        <Title order={2}>Version {number}</Title>
        <SegmentedControl
          size="xs"
          aria-label="View"
          value={isComparing ? 'changes' : 'edit'}
          onChange={chosen => setComparing(chosen === 'changes')}
          data={[
            { value: 'edit', label: 'Edit' },
            { value: 'changes', label: active ? `Changes from version ${active.number}` : 'Changes' },
          ]}
        />
      </Group>
      {isChanged && base && active && base.id !== active.id && (
        <Warning title={`Version ${active.number} is now active`}>
          You started this draft from version {base.number}.{' '}
          <TextLink
            href={`${kind.path}/${text.id}?${withParameters({ new: null, version: active.id, compare: base.id })(parameters)}`}
          >
            Compare the two versions
          </TextLink>
          . Your draft is unchanged.
        </Warning>
      )}
      {isComparing ? (
        <DraftChanges kind={kind} draft={draft} active={active} />
      ) : (
        <ContentFields kind={kind} form={form} />
      )}
      <NoteField form={form} />
      <Text size="xs" c="dimmed">
        {active && `Version ${active.number} stays active until you activate the new version.`}
        {problemPath && ' The new version will be linked to the problem that you came from.'}
      </Text>
    </TextForm>
  )
}

/** The version exists by now, so a failure to link it must not look as if nothing was saved. */
const linkVersion = (problemId: string, candidateVersionId: string): Promise<void> =>
  changeProblem(problemId, { candidateVersionId }).catch(({ message }: Error) => {
    notifications.show({ color: 'red', title: "Couldn't link the version to the problem", message })
  })
