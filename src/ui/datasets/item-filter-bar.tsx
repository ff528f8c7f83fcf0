import { Button, Group } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { FilterPill } from '../parts/filter-pill.tsx'
import { DECISION_OPTIONS, FilterSelect } from '../parts/filter-select.tsx'
import { queryOf, withoutItemFilters } from './filters.ts'

interface ItemFilterBarProps {
  splits: readonly string[]
  typeNames: ReadonlyMap<string, string>
}

/** The filters of a dataset's items. An older version comes from a link and can only be removed. */
export function ItemFilterBar({ splits, typeNames }: ItemFilterBarProps) {
  const [address, change] = useSearchParams()
  const version = address.get('version')
  return (
    <Group gap="xs" align="end">
      <FilterSelect name="split" label="Split" width={130} options={splits.map(value => ({ value, label: value }))} />
      <FilterSelect
        name="decision"
        label="Decision"
        width={150}
        options={[...DECISION_OPTIONS, { value: 'import', label: 'Imported' }]}
      />
      <FilterSelect
        name="errorType"
        label="Error type"
        width={220}
        options={[...typeNames].map(([value, label]) => ({ value, label }))}
        isSearchable
      />
      <FilterSelect
        name="excluded"
        label="Excluded"
        width={150}
        options={[
          { value: 'true', label: 'Only excluded' },
          { value: 'false', label: 'Not excluded' },
        ]}
      />
      {version !== null && <FilterPill name="version" label="Version" value={version} />}
      {queryOf(address) !== '' && (
        <Button size="xs" variant="subtle" onClick={() => change(withoutItemFilters)}>
          Clear filters
        </Button>
      )}
    </Group>
  )
}
