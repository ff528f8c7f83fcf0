import { Anchor, Button, Checkbox, Group, SegmentedControl, Stack, TextInput, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { type FormEvent, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'
import { withParameters } from '../parts/parameters.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { Warning } from '../parts/warning.tsx'
import { EMPTY_DRAFT, type TextDraft } from './draft.ts'
import { DraftChanges } from './draft-changes.tsx'
import { DraftState } from './draft-state.tsx'
import type { TextKind, VersionedText } from './kinds.ts'
import { parseSchema, schemaText } from './schema-text.ts'
import { ContentField, SchemaField } from './text-fields.tsx'
import { useDraft } from './use-draft.ts'
import { createVersion, type NewVersion, refreshTexts } from './writes.ts'

/** Creates a version, starting from the active one. The draft survives a reload. */
export function NewVersionForm({ kind, text }: { kind: TextKind; text: VersionedText }) {
  const [parameters, setParameters] = useSearchParams()
  const [isComparing, setComparing] = useState(false)
  const active = text.versions.find(({ isActive }) => isActive)
  const number = (text.versions[0]?.number ?? 0) + 1
  const { draft, change, discard, isChanged, isKept } = useDraft(`${kind.key}.${text.id}`, {
    ...EMPTY_DRAFT,
    content: active?.content ?? '',
    schema: schemaText(active?.outputSchema ?? null),
    baseId: active?.id ?? '',
  })
  const base = text.versions.find(({ id }) => id === draft.baseId)
  const { submit, isPending, error } = useSubmission({
    send: (version: NewVersion) => createVersion(kind, text.id, version),
    onDone: async ({ id }, { activate }) => {
      await refreshTexts(kind, text.id)
      discard()
      notifications.show({ message: `Version ${number} created${activate ? ' and activated' : ''}.` })
      setParameters(withParameters({ version: id, new: null }))
    },
  })
  const faults = fieldFaults(error, ['content', 'outputSchema', 'note'])
  const schema = parseSchema(draft.schema)
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (!('schema' in schema)) return
    const { content, note, activate } = draft
    submit({ content, note, activate, outputSchema: schema.schema })
  }
  return (
    <form onSubmit={send}>
      <Stack gap="sm">
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
            <Anchor
              component={Link}
              inherit
              href={`${kind.path}/${text.id}?${withParameters({ new: null, version: active.id, compare: base.id })(parameters)}`}
            >
              See the changes between them
            </Anchor>
            . Your draft is unchanged.
          </Warning>
        )}
        {isComparing ? (
          <DraftChanges kind={kind} draft={draft} active={active} />
        ) : (
          <Fields kind={kind} draft={draft} change={change} faults={faults} schema={schema} />
        )}
        <TextInput
          label="Note"
          description="Why you created this version."
          value={draft.note}
          onChange={({ currentTarget }) => change({ note: currentTarget.value })}
          error={faults.of('note')}
        />
        <Checkbox
          label="Activate it now"
          description={
            draft.activate
              ? `Replaces version ${active?.number ?? '–'}. ${kind.readers}`
              : `Version ${active?.number ?? '–'} stays active until someone activates this one.`
          }
          checked={draft.activate}
          onChange={({ currentTarget }) => change({ activate: currentTarget.checked })}
        />
        {faults.rest && <FaultAlert error={faults.rest} title="Couldn't create this version" />}
        <Group justify="space-between">
          <DraftState isChanged={isChanged} isKept={isKept} onDiscard={discard} />
          <Group gap="xs" ml="auto">
            <Button variant="default" onClick={() => setParameters(withParameters({ new: null }))}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending} disabled={draft.content === '' || 'fault' in schema}>
              {draft.activate ? 'Save and activate' : 'Save'} version {number}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  )
}

interface FieldsProps {
  kind: TextKind
  draft: TextDraft
  change: (part: Partial<TextDraft>) => void
  faults: ReturnType<typeof fieldFaults>
  schema: ReturnType<typeof parseSchema>
}

const Fields = ({ kind, draft, change, faults, schema }: FieldsProps) => (
  <>
    <ContentField value={draft.content} onChange={content => change({ content })} error={faults.of('content')} />
    {kind.hasSchema && (
      <SchemaField
        value={draft.schema}
        onChange={text => change({ schema: text })}
        error={'fault' in schema ? schema.fault : faults.of('outputSchema')}
      />
    )}
  </>
)
