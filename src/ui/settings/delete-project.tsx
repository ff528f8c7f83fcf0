import { ActionIcon, Code, Text, TextInput, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import type { Project } from '../api/wire.ts'
import { IconTrash } from '../icons/index.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { useLeaveProject } from '../session/project.ts'
import { useOnlyProject } from './limits-of-key.tsx'
import { deleteProject, refreshKeys, refreshProjects } from './writes.ts'

/** Deletes a project with all that it has, once its slug was typed. */
export function DeleteProject({ project: { id, slug, name } }: { project: Project }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [typed, setTyped] = useState('')
  const leaveProject = useLeaveProject()
  const isOwn = useOnlyProject() !== null
  const { submit, isPending, error, reset } = useSubmission({
    send: () => deleteProject(id, typed),
    onDone: async () => {
      leaveProject(slug)
      // Another project may soon have the slug by which pages ask.
      queryClient.removeQueries({ type: 'inactive' })
      await Promise.all([refreshProjects(), refreshKeys()])
      close()
      notifications.show({ message: `${name} deleted.` })
    },
  })
  const begin = () => {
    reset()
    setTyped('')
    open()
  }
  const label = `Delete ${name}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" aria-label={label} onClick={begin}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={`${label}?`}
        isOpen={isOpen}
        onClose={close}
        act="Delete project"
        isDestructive
        isDisabled={typed !== slug}
        onSubmit={() => submit(undefined)}
        isPending={isPending}
        error={error}
      >
        <Text size="sm">
          All of its traces, reviews, feedback, prompts, knowledge docs and counts go with it, and this can't be undone.
          Its API keys stop working within 30 seconds. The audit log stays.
        </Text>
        {isOwn && (
          <Text size="sm" fw={600}>
            You're signed in with a key of this project: you'll be signed out.
          </Text>
        )}
        <TextInput
          label={
            <>
              Type <Code>{slug}</Code> to delete it
            </>
          }
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </FormModal>
    </>
  )
}
