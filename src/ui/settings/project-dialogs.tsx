import { Alert, NumberInput, Switch, Text, TextInput } from '@mantine/core'
import { queryClient } from '../api/query-client.ts'
import type { Project } from '../api/wire.ts'
import { IconAlertTriangle, IconPencil, IconTrash } from '../icons/index.ts'
import { AddTrigger, DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import type { FieldFaults } from '../parts/field-faults.ts'
import { TypedName } from '../parts/typed-name.tsx'
import { useLeaveProject } from '../session/project.ts'
import { changesIn } from './changes.ts'
import { useOnlyProject } from './limits-of-key.tsx'
import { deletedByChange } from './retention.ts'
import { createProject, deleteProject, refreshKeys, refreshProjects, updateProject } from './writes.ts'

/** Creates a project. */
export const NewProject = () => (
  <DialogForm
    trigger={open => <AddTrigger label="New project" onClick={open} />}
    title="New project"
    initial={{ slug: '', name: '' }}
    fields={['slug', 'name']}
    button={() => ({ act: 'Create project' })}
    send={({ slug, name }) => createProject({ slug: slug.trim(), name: name.trim() })}
    onDone={() => void refreshProjects()}
    notice={({ name }) => `Project ${name} created.`}
  >
    {(draft, change, faults) => (
      <>
        <NameField value={draft.name} onChange={name => change({ name })} faults={faults} />
        <TextInput
          label="Slug"
          description="Identifies the project in the API. Lowercase letters, digits, and hyphens. You can't change it later."
          placeholder="support"
          required
          value={draft.slug}
          onChange={({ currentTarget }) => change({ slug: currentTarget.value })}
          error={faults.of('slug')}
        />
      </>
    )}
  </DialogForm>
)

interface NameFieldProps {
  value: string
  onChange: (name: string) => void
  faults: FieldFaults
}

const NameField = ({ value, onChange, faults }: NameFieldProps) => (
  <TextInput
    label="Name"
    required
    data-autofocus
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
    error={faults.of('name')}
  />
)

const FIELDS = ['name', 'retentionDays', 'retainReviewed', 'autoAttribute'] as const

/** Changes a project's name, how long it keeps traces, and whether disagreements are analyzed automatically. */
export function EditProject({ project }: { project: Project }) {
  const label = `Edit ${project.name}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconPencil} onClick={open} />}
      title={label}
      initial={project}
      fields={FIELDS}
      button={draft =>
        deletedByChange(project, draft) === undefined
          ? { act: 'Save' }
          : { act: 'Save and delete older traces', isDestructive: true }
      }
      send={draft => updateProject(project.id, changesIn(project, { ...draft, name: draft.name.trim() }, FIELDS))}
      onDone={refreshProjects}
      notice={({ name }) => `Changes to ${name} saved.`}
    >
      {(draft, change, faults) => (
        <>
          <NameField value={draft.name} onChange={name => change({ name })} faults={faults} />
          <NumberInput
            label="Delete traces after"
            description="Counted from a trace's timestamp. The trace's feedback, reviews, and analyses are deleted with it. Leave this field empty to keep traces indefinitely."
            placeholder="Kept indefinitely"
            suffix={draft.retentionDays === 1 ? ' day' : ' days'}
            min={1}
            allowDecimal={false}
            allowNegative={false}
            value={draft.retentionDays ?? ''}
            onChange={value => change({ retentionDays: value === '' ? null : Number(value) })}
            error={faults.of('retentionDays')}
          />
          <Switch
            label="Keep reviewed traces"
            description="Never delete traces that have a reviewed span. Reviewed outputs are ground truth."
            disabled={draft.retentionDays === null}
            checked={draft.retainReviewed}
            onChange={({ currentTarget }) => change({ retainReviewed: currentTarget.checked })}
            error={faults.of('retainReviewed')}
          />
          <Switch
            label="Analyze disagreements automatically"
            description="Find the root cause of negative feedback and corrections as they arrive. When this is off, analysis runs only on request."
            checked={draft.autoAttribute}
            onChange={({ currentTarget }) => change({ autoAttribute: currentTarget.checked })}
            error={faults.of('autoAttribute')}
          />
          <DeletionWarning deleted={deletedByChange(project, draft)} />
        </>
      )}
    </DialogForm>
  )
}

const DeletionWarning = ({ deleted }: { deleted: string | undefined }) => (
  <div aria-live="polite">
    {deleted !== undefined && (
      <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} title="This deletes traces">
        {deleted}
      </Alert>
    )}
  </div>
)

/** Deletes a project and everything in it, after the user types its slug. */
export function DeleteProject({ project: { id, slug, name } }: { project: Project }) {
  const leaveProject = useLeaveProject()
  const isOwn = useOnlyProject() !== null
  const label = `Delete ${name}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconTrash} onClick={open} />}
      title={`${label}?`}
      initial={{ typed: '' }}
      button={({ typed }) => ({ act: 'Delete project', isDestructive: true, isDisabled: typed !== slug })}
      send={({ typed }) => deleteProject(id, typed)}
      onDone={() => {
        leaveProject(slug)
        // Cached queries are keyed by slug, and a new project can reuse this slug.
        queryClient.removeQueries({ type: 'inactive' })
        return Promise.all([refreshProjects(), refreshKeys()])
      }}
      notice={() => `${name} deleted.`}
    >
      {({ typed }, change) => (
        <>
          <Text size="sm">
            This also deletes its traces, reviews, feedback, prompts, knowledge docs, and statistics. Its API keys stop
            working within 30 seconds. The audit log stays. You can't undo this.
          </Text>
          {isOwn && (
            <Text size="sm" fw={600}>
              You're signed in with a key for this project. You'll be signed out.
            </Text>
          )}
          <TypedName name={slug} value={typed} onChange={value => change({ typed: value })} />
        </>
      )}
    </DialogForm>
  )
}
