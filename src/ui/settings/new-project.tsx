import { Button, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { IconPlus } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { createProject, refreshProjects } from './writes.ts'

const EMPTY = { slug: '', name: '' }

/** Makes a project. */
export function NewProject() {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(EMPTY)
  const { submit, isPending, error, reset } = useSubmission({
    send: createProject,
    onDone: ({ name }) => {
      refreshProjects()
      close()
      notifications.show({ message: `Project ${name} created.` })
    },
  })
  const faults = fieldFaults(error, ['slug', 'name'])
  const begin = () => {
    setDraft(EMPTY)
    reset()
    open()
  }
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={begin}>
        New project
      </Button>
      <FormModal
        title="New project"
        isOpen={isOpen}
        onClose={close}
        act="Create project"
        onSubmit={() => submit({ slug: draft.slug.trim(), name: draft.name.trim() })}
        isPending={isPending}
        error={faults.rest}
      >
        <TextInput
          label="Name"
          required
          data-autofocus
          value={draft.name}
          onChange={({ currentTarget }) => setDraft({ ...draft, name: currentTarget.value })}
          error={faults.of('name')}
        />
        <TextInput
          label="Slug"
          description="Names it in every call of the API: lower-case letters, digits and hyphens. It does not change later."
          placeholder="support"
          required
          value={draft.slug}
          onChange={({ currentTarget }) => setDraft({ ...draft, slug: currentTarget.value })}
          error={faults.of('slug')}
        />
      </FormModal>
    </>
  )
}
