import { Button, Group, Select, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { pathWith } from '../api/client.ts'
import { modelQuery } from '../api/model.ts'
import type { ConfiguredModel, Dataset, DatasetItem } from '../api/wire.ts'
import { datasetOfStepQuery, triableItemsQuery } from '../datasets/queries.ts'
import { whatIsSent } from '../experiments/model-words.ts'
import { TEST } from '../experiments/use-new-experiment.ts'
import { createExperiment } from '../experiments/writes.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'
import { MissingScope, useMay } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { useProject } from '../session/project.ts'
import type { Version } from './kinds.ts'
import { TryResult } from './try-result.tsx'

interface TryFormProps {
  stepId: string
  version: Version
}

/** Chooses an item, lets the model run the version on it, and shows the output. If the user can't run it, says why. */
export function TryForm({ stepId, version }: TryFormProps) {
  const project = useProject()
  const mayReview = useMay('review')
  const model = useQuery(modelQuery(project))
  const dataset = useQuery(datasetOfStepQuery(project, stepId))
  const items = useQuery(triableItemsQuery(dataset.data?.id, TEST))
  const error = model.error ?? dataset.error ?? items.error
  if (mayReview === false) return <MissingScope scope="review">You can't try versions</MissingScope>
  if (error) return <FaultAlert error={error} title="Couldn't load the step's items" />
  if (model.data && !model.data.model) return <Text size="sm">{model.data.reason}</Text>
  if (dataset.data === null || items.data?.length === 0) {
    return (
      <Text size="sm">
        The step has no items to try the version on. <TextLink href={pathWith('/review', { project })}>Review</TextLink>{' '}
        some of its outputs first.
      </Text>
    )
  }
  if (!mayReview || !project || !model.data?.model || !dataset.data || !items.data) return <Skeleton h={120} />
  return (
    <Chosen project={project} model={model.data.model} dataset={dataset.data} items={items.data} version={version} />
  )
}

interface ChosenProps {
  project: string
  model: NonNullable<ConfiguredModel['model']>
  dataset: Dataset
  /** Contains at least one item. */
  items: readonly DatasetItem[]
  version: Version
}

function Chosen({ project, model, dataset, items, version }: ChosenProps) {
  const [itemId, setItemId] = useState(items[0]?.id ?? null)
  const [experimentId, setExperimentId] = useState<string>()
  // A retry of the same request doesn't run the item twice.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next run is another experiment
  const id = useMemo(() => crypto.randomUUID(), [itemId, experimentId])
  const { submit, isPending, error, reset } = useSubmission({
    send: createExperiment,
    onDone: experiment => setExperimentId(experiment.id),
  })
  const faults = fieldFaults(error, ['itemId'])
  return (
    <Stack gap="sm">
      <form
        onSubmit={event => {
          event.preventDefault()
          if (itemId === null) return
          submit({
            id,
            projectSlug: project,
            datasetId: dataset.id,
            runner: 'model',
            itemId,
            promptVersionId: version.id,
            name: `Version ${version.number} on one item`,
          })
        }}
      >
        <Stack gap="sm">
          <Select
            label="Item"
            description="Lists up to 100 of the newest items. Corrected test items come first."
            searchable
            allowDeselect={false}
            data={items.map(item => ({ value: item.id, label: labelOf(item) }))}
            value={itemId}
            onChange={chosen => {
              setItemId(chosen)
              setExperimentId(undefined)
              reset()
            }}
            error={faults.of('itemId')}
          />
          <Text size="xs" c="dimmed">
            {whatIsSent(model, "the item's")}
          </Text>
          {faults.rest && <FaultAlert error={faults.rest} title="Couldn't run the version" />}
          <Group justify="flex-end">
            <Button type="submit" loading={isPending}>
              Run
            </Button>
          </Group>
        </Stack>
      </form>
      {experimentId !== undefined && <TryResult key={experimentId} experimentId={experimentId} />}
    </Stack>
  )
}

const LABEL_LENGTH = 100
const DECISIONS = { accept: 'Accepted', correct: 'Corrected' } as const

function labelOf({ input, decision, split, id }: DatasetItem): string {
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  const kind = decision === null ? 'Imported' : DECISIONS[decision]
  return `${kind}, ${split}: ${text.slice(0, LABEL_LENGTH)} (${id.slice(0, 8)})`
}
