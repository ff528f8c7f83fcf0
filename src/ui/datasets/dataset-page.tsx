import { Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams, useSearchParams } from 'wouter'
import { Fault } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { FilterBar } from '../filters/filter-bar.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useErrorTypes } from '../session/error-type-names.ts'
import { DatasetHeader } from './dataset-header.tsx'
import { queryOf, withoutItemFilters } from './filters.ts'
import { ItemDrawer } from './item-drawer.tsx'
import { itemFilters, PINNED_FILTERS } from './item-filters.ts'
import { ItemTable } from './item-table.tsx'
import { NoItems } from './no-items.tsx'
import { datasetQuery, itemsQuery } from './queries.ts'

/** A dataset with its items. */
export function Page() {
  const { datasetId = '' } = useParams<{ datasetId: string }>()
  const [address] = useSearchParams()
  const filters = queryOf(address)
  const { data: dataset, error, refetch } = useQuery(datasetQuery(datasetId))
  const query = useInfiniteQuery(itemsQuery(datasetId, filters))
  usePageTitle(dataset?.stepId ?? 'Dataset')
  const typeNames = useErrorTypes()
  const items = query.data?.pages.flatMap(page => page.items)
  const userNames = useNames((items ?? []).map(({ by }) => by))
  const first = query.data?.pages[0]
  const splits = [...new Set(['train', 'test', ...(items ?? []).map(({ split }) => split)])]
  const isEmpty = items?.length === 0 && !query.hasNextPage
  const listFault = query.data ? null : query.error
  return (
    <Stack gap="sm">
      <DatasetHeader dataset={dataset} version={first?.version} splits={splits} />
      {error && !dataset ? (
        <FaultAlert error={error} title={faultTitle(error)} onRetry={refetch} />
      ) : (
        <>
          <FilterBar
            filters={itemFilters({ splits, typeNames })}
            pinned={PINNED_FILTERS}
            onClear={withoutItemFilters}
          />
          {listFault && <FaultAlert error={listFault} title="Couldn't load the items" onRetry={query.refetch} />}
          {first !== undefined && first.removed > 0 && (
            <Text size="sm" role="status">
              {first.removed === 1 ? '1 item is gone' : `${count(first.removed)} items are gone`} because{' '}
              {first.removed === 1 ? 'its trace was' : 'their traces were'} deleted.
            </Text>
          )}
          {isEmpty && <NoItems dataset={dataset} isFiltered={filters !== ''} />}
          {!isEmpty && !listFault && <ItemTable items={items} typeNames={typeNames} userNames={userNames} />}
          <ShowMore query={query} />
          {dataset && (
            <ItemDrawer
              dataset={dataset}
              items={items ?? []}
              splits={splits}
              query={query}
              typeNames={typeNames}
              userNames={userNames}
            />
          )}
        </>
      )}
    </Stack>
  )
}

const faultTitle = (error: Error): string =>
  error instanceof Fault && error.status === 404 ? "This dataset doesn't exist" : "Couldn't load this dataset"
