import { Text, TextInput } from '@mantine/core'
import { useLocation } from 'wouter'
import { call, pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { AddTrigger, DialogForm } from '../parts/dialog-form.tsx'
import { useRefusal } from '../parts/scopes.tsx'
import { refreshDataset } from './queries.ts'

/** Creates a step's dataset before its first review, and opens it. */
export function NewDataset({ project }: { project: string }) {
  const [, navigate] = useLocation()
  const refusal = useRefusal('review', 'create a dataset')
  if (refusal === undefined) return null
  if (refusal !== null) {
    return (
      <Text size="sm" c="dimmed">
        {refusal}
      </Text>
    )
  }
  return (
    <DialogForm
      trigger={open => <AddTrigger label="New dataset" onClick={open} />}
      title="New dataset"
      initial={{ stepId: '' }}
      fields={['stepId']}
      button={() => ({ act: 'Create' })}
      send={({ stepId }) =>
        call<Dataset>('/api/datasets', { method: 'PUT', body: { projectSlug: project, stepId: stepId.trim() } })
      }
      onDone={({ id }) => {
        refreshDataset(id)
        navigate(pathWith(`/datasets/${id}`, { project }))
      }}
    >
      {({ stepId }, change, faults) => (
        <TextInput
          label="Step"
          description="The step ID, exactly as your pipeline sends it in spans. After this, you can import examples."
          placeholder="generate-answer"
          required
          data-autofocus
          value={stepId}
          onChange={({ currentTarget }) => change({ stepId: currentTarget.value })}
          error={faults.of('stepId')}
        />
      )}
    </DialogForm>
  )
}
