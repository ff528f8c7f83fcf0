import { Button, Group, Input, SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import { useLocation, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'
import { counted } from '../parts/format.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { RunnerFields } from './runner-fields.tsx'
import { NO_VERSION, TEST, useNewExperiment } from './use-new-experiment.ts'
import { createExperiment } from './writes.ts'

interface NewExperimentFormProps {
  project: string
  datasets: readonly Dataset[]
}

/** Chooses a dataset and a version. The URL can preselect both. It identifies the dataset by its ID or its step. */
export function NewExperimentForm({ project, datasets }: NewExperimentFormProps) {
  const [, navigate] = useLocation()
  const [address] = useSearchParams()
  const form = useNewExperiment(project, datasets)
  const { submit, isPending, error } = useSubmission({
    send: createExperiment,
    onDone: ({ id }) => navigate(pathWith(`/experiments/${id}`, { project, problem: address.get('problem') })),
  })
  const faults = fieldFaults(error, ['name', 'model', 'maxCostUsd'])
  const { dataset, body } = form
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (body) submit(body)
      }}
    >
      <Stack gap="sm">
        <Select
          label="Dataset"
          description="The step's reviewed outputs."
          placeholder="Choose a step"
          data-autofocus={!dataset}
          required
          searchable
          data={datasets.map(({ id, stepId, items }) => ({
            value: id,
            label: `${stepId} (${counted(items, 'item')})`,
          }))}
          value={dataset?.id ?? null}
          onChange={form.chooseDataset}
        />
        <Select
          label="Prompt version"
          description={
            form.isByModel
              ? 'The version to try.'
              : "The version to try. If you don't choose one, the experiment tries a change in your code."
          }
          required
          disabled={!dataset}
          allowDeselect={false}
          data={
            form.isByModel
              ? form.versions
              : [...form.versions, { value: NO_VERSION, label: 'No version: a change in the code' }]
          }
          value={form.versionId}
          onChange={form.chooseVersion}
        />
        <Input.Wrapper
          label="Items"
          labelElement="div"
          description="A prompt's examples never come from test items, so only those items show whether the prompt works beyond its examples."
        >
          <SegmentedControl
            mt={4}
            size="xs"
            aria-label="Items"
            value={form.isAll ? 'all' : TEST}
            onChange={chosen => form.setAll(chosen === 'all')}
            data={[
              { value: TEST, label: 'For testing', disabled: form.hasNoTests },
              { value: 'all', label: 'All' },
            ]}
          />
        </Input.Wrapper>
        <RunnerFields form={form} faults={faults} />
        <TextInput
          label="Name"
          description="Optional. What changed, in a few words."
          maxLength={200}
          value={form.name}
          onChange={({ currentTarget }) => form.setName(currentTarget.value)}
          error={faults.of('name')}
        />
        {faults.rest && <FaultAlert error={faults.rest} title="Couldn't start the experiment" />}
        <Group justify="flex-end">
          <Button type="submit" loading={isPending} disabled={!body}>
            Start
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
