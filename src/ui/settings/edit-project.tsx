import { ActionIcon, Alert, NumberInput, Switch, TextInput, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { Project } from '../api/wire.ts'
import { IconAlertTriangle, IconPencil } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { deletedByChange } from './retention.ts'
import { changeProject, refreshProjects } from './writes.ts'

/** Changes a project's name, how long it keeps traces and whether disagreement is analyzed unasked. */
export function EditProject({ project }: { project: Project }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(project)
  const { submit, isPending, error, reset } = useSubmission({
    send: (changed: Project) => changeProject(project.id, changesOf(project, changed)),
    onDone: async ({ name }) => {
      await refreshProjects()
      close()
      notifications.show({ message: `Changes to ${name} saved.` })
    },
  })
  const faults = fieldFaults(error, ['name', 'retentionDays', 'retainReviewed', 'autoAttribute'])
  const deleted = deletedByChange(project, draft)
  const begin = () => {
    setDraft(project)
    reset()
    open()
  }
  const label = `Edit ${project.name}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" aria-label={label} onClick={begin}>
          <IconPencil size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={label}
        isOpen={isOpen}
        onClose={close}
        act={deleted === undefined ? 'Save' : 'Save and delete older traces'}
        isDestructive={deleted !== undefined}
        onSubmit={() => submit({ ...draft, name: draft.name.trim() })}
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
        <NumberInput
          label="Delete traces after"
          description="Days after a trace's timestamp. Its spans, observations, feedback, reviews and analyses are deleted with it. Prompts, knowledge docs and the audit log stay. Leave empty to keep traces indefinitely."
          placeholder="Kept indefinitely"
          suffix=" days"
          min={1}
          allowDecimal={false}
          allowNegative={false}
          value={draft.retentionDays ?? ''}
          onChange={value => setDraft({ ...draft, retentionDays: value === '' ? null : Number(value) })}
          error={faults.of('retentionDays')}
        />
        <Switch
          label="Keep reviewed traces"
          description="Never delete traces that have a reviewed span: what people decided is ground truth."
          disabled={draft.retentionDays === null}
          checked={draft.retainReviewed}
          onChange={({ currentTarget }) => setDraft({ ...draft, retainReviewed: currentTarget.checked })}
          error={faults.of('retainReviewed')}
        />
        <Switch
          label="Analyze disagreement automatically"
          description="Find the cause of negative feedback and corrections as they arrive. If off, only when somebody asks."
          checked={draft.autoAttribute}
          onChange={({ currentTarget }) => setDraft({ ...draft, autoAttribute: currentTarget.checked })}
          error={faults.of('autoAttribute')}
        />
        <div aria-live="polite">
          {deleted !== undefined && (
            <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} title="This deletes traces">
              {deleted}
            </Alert>
          )}
        </div>
      </FormModal>
    </>
  )
}

const FIELDS = ['name', 'retentionDays', 'retainReviewed', 'autoAttribute'] as const

/** What differs: fields that somebody else changes meanwhile stay theirs. */
const changesOf = (before: Project, after: Project): Partial<Project> =>
  Object.fromEntries(FIELDS.filter(field => before[field] !== after[field]).map(field => [field, after[field]]))
