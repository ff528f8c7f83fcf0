import { TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { EMPTY_DRAFT } from './draft.ts'
import type { TextKind } from './kinds.ts'
import { OverrideReason } from './override-reason.tsx'
import { ContentFields, NoteField, TextForm } from './text-form.tsx'
import { useTextForm } from './use-text-form.ts'
import { createText, refreshTexts } from './writes.ts'

interface NewTextFormProps {
  kind: TextKind
  projectSlug: string
  onClose: () => void
}

/** Creates a text with its first version. */
export function NewTextForm({ kind, projectSlug, onClose }: NewTextFormProps) {
  const [, navigate] = useLocation()
  const [reason, setReason] = useState('')
  const form = useTextForm({
    key: `${kind.key}.new.${projectSlug}`,
    initial: EMPTY_DRAFT,
    fields: [kind.name.field, 'title', 'override'],
    send: ({ name, title, content, note }, outputSchema) =>
      createText(kind, {
        projectSlug,
        name: name.trim(),
        title: title.trim(),
        content,
        note,
        outputSchema,
        reason: reason.trim(),
      }),
    onDone: ({ id }, { name }, discard) => {
      discard()
      notifications.show({ message: `${name} created.` })
      refreshTexts(kind, id)
      navigate(`${kind.path}/${id}`)
    },
  })
  const { draft, change, faults } = form
  return (
    <TextForm form={form} act={`Create ${kind.one}`} faultTitle={`Couldn't create this ${kind.one}`} onCancel={onClose}>
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
      <ContentFields kind={kind} form={form} />
      <NoteField form={form} />
      {(reason !== '' || faults.of('override') !== undefined) && (
        <OverrideReason value={reason} onChange={setReason} error={faults.of('override')} />
      )}
    </TextForm>
  )
}
