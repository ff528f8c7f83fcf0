import { Button, Group, Select } from '@mantine/core'
import { useSearchParams } from 'wouter'
import type { DatasetList } from '../api/wire.ts'
import { withParameters } from '../parts/parameters.ts'
import { listFiltersIn, STATES } from './filters.ts'
import type { PromptVersions } from './use-prompt-versions.ts'

interface FilterBarProps {
  datasets: DatasetList['datasets']
  versions: PromptVersions
}

/** The list's filters. */
export function FilterBar({ datasets, versions }: FilterBarProps) {
  const [address, change] = useSearchParams()
  const field = (name: string) => ({
    size: 'xs',
    placeholder: 'Any',
    clearable: true,
    value: address.get(name),
    onChange: (value: string | null) => change(withParameters({ [name]: value })),
  })
  const versionId = address.get('promptVersionId')
  const named = versions.prompts.flatMap(prompt =>
    prompt.versions.map(({ id, number }) => ({ value: id, label: `${prompt.name}, version ${number}` })),
  )
  const isNamed = versionId === null || named.some(({ value }) => value === versionId)
  return (
    <Group gap="xs" align="end">
      <Select
        {...field('datasetId')}
        w={220}
        label="Dataset"
        searchable
        data={datasets.map(({ id, stepId }) => ({ value: id, label: stepId }))}
      />
      <Select
        {...field('promptVersionId')}
        w={240}
        label="Prompt version"
        searchable
        data={isNamed ? named : [...named, { value: versionId, label: versionId }]}
      />
      <Select
        {...field('state')}
        w={130}
        label="State"
        data={Object.entries(STATES).map(([value, label]) => ({ value, label }))}
      />
      {listFiltersIn(address).length > 0 && (
        <Button
          size="xs"
          variant="subtle"
          onClick={() => change(withParameters({ datasetId: null, promptVersionId: null, state: null }))}
        >
          Clear filters
        </Button>
      )}
    </Group>
  )
}
