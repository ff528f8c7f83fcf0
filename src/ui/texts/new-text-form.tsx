import { Button, Group, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { EMPTY_DRAFT } from './draft.ts'
import { DraftState } from './draft-state.tsx'
import type { TextKind } from './kinds.ts'
import { parseSchema } from './schema-text.ts'
import { ContentField, SchemaField } from './text-fields.tsx'
import { useDraft } from './use-draft.ts'
import { createText, type NewText, refreshTexts } from './writes.ts'

interface NewTextFormProps {
  kind: TextKind
  projectSlug: string
  onClose: () => void
}

/** Creates a text with its first version. */
export function NewTextForm({ kind, projectSlug, onClose }: NewTextFormProps) {
  const [, navigate] = useLocation()
  const { draft, change, discard, isChanged, isKept } = useDraft(`${kind.key}.new.${projectSlug}`, EMPTY_DRAFT)
  const { submit, isPending, error } = useSubmission({
    send: (text: NewText) => createText(kind, text),
    onDone: ({ id }) => {
      discard()
      notifications.show({ message: `${draft.name} created.` })
      refreshTexts(kind, id)
      navigate(`${kind.path}/${id}`)
    },
  })
  const faults = fieldFaults(error, [kind.name.field, 'title', 'content', 'outputSchema', 'note'])
  const schema = parseSchema(draft.schema)
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (!('schema' in schema)) return
    const { name, title, content, note } = draft
    submit({ projectSlug, name: name.trim(), title: title.trim(), content, note, outputSchema: schema.schema })
  }
  return (
    <form onSubmit={send}>
      <Stack gap="sm">
        <TextInput
          label={kind.name.label}
          description={kind.name.description}
          placeholder={kind.name.example}
          required
          data-autofocus
          value={draft.name}
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
          error={faults.of(kind.name.field)}
        />
        {kind.hasTitle && (
          <TextInput
            label="Title"
            required
            value={draft.title}
            onChange={({ currentTarget }) => change({ title: currentTarget.value })}
            error={faults.of('title')}
          />
        )}
        <ContentField value={draft.content} onChange={content => change({ content })} error={faults.of('content')} />
        {kind.hasSchema && (
          <SchemaField
            value={draft.schema}
            onChange={text => change({ schema: text })}
            error={'fault' in schema ? schema.fault : faults.of('outputSchema')}
          />
        )}
        <TextInput
          label="Note"
          description="Why you created this version."
          value={draft.note}
          onChange={({ currentTarget }) => change({ note: currentTarget.value })}
          error={faults.of('note')}
        />
        {faults.rest && <FaultAlert error={faults.rest} title={`Couldn't create this ${kind.one}`} />}
        <Group justify="space-between">
          <DraftState isChanged={isChanged} isKept={isKept} onDiscard={discard} />
          <Group gap="xs" ml="auto">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending} disabled={draft.content === '' || 'fault' in schema}>
              Create {kind.one}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  )
}
