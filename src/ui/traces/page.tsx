import { Group, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { FilterBar } from '../filters/filter-bar.tsx'
import { SearchNotes } from '../filters/search-notes.tsx'
import { Expired } from '../parts/expired.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { late } from '../parts/late.tsx'
import { LateExportList } from '../parts/late-export-list.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { withParameters } from '../parts/parameters.ts'
import { useMay } from '../parts/scopes.tsx'
import { usePreload } from '../parts/settled.ts'
import { isTired } from '../parts/tired.ts'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { LateViewsMenu } from '../views/late-views-menu.tsx'
import { ColumnsButton } from './columns-button.tsx'
import { listQueryOf, metadataName, queryOf, withoutTraceFilters } from './filters.ts'
import { ListEnd } from './list-end.tsx'
import { ListSwitch } from './list-switch.tsx'
import type { MetadataLeaf } from './metadata-leaves.ts'
import { NoTraces } from './no-traces.tsx'
import classes from './page.module.css'
import { tracesQuery } from './queries.ts'
import { SortNote } from './sort-note.tsx'
import { TraceTable } from './trace-table.tsx'
import { useColumns } from './use-columns.ts'
import { useListPlace } from './use-list-place.ts'
import { useNewTraces } from './use-new-traces.ts'
import { useSelection } from './use-selection.ts'
import { PINNED_FILTERS, useTraceFilters } from './use-trace-filters.ts'
import { useWideRows } from './use-wide-rows.ts'
import { WaitingTraces } from './waiting-traces.tsx'

/** The button and the menu that it opens load after the list. */
const ColumnsMenu = late(
  async () => (await import('./columns-menu.tsx')).ColumnsMenu,
  () => <ColumnsButton disabled />,
)

const DeleteTraces = late(
  async () => (await import('./delete-traces.tsx')).DeleteTraces,
  () => null,
)

/** A project's traces. */
export function Page() {
  usePageTitle('Traces')
  const project = useProject()
  const [address, setAddress] = useSearchParams()
  const filters = listQueryOf(address)
  const contains = address.get('contains')
  const traceFilters = useTraceFilters(contains !== null)
  const list = useInfiniteQuery(tracesQuery(project, filters))
  const { data, hasNextPage, isFetchingNextPage, isPlaceholderData, fetchNextPage } = list
  const pages = data?.pages
  const traces = useMemo(() => pages?.flatMap(page => page.traces) ?? [], [pages])
  const { offset, isAtTop, onScroll } = useListPlace(address.toString())
  const [isPointedAt, setPointedAt] = useState(false)
  const { waiting, hasMore, show } = useNewTraces({
    project,
    filters,
    pages: isPlaceholderData ? undefined : pages,
    isFree: isAtTop && !isPointedAt,
  })

  const isPaused = isTired(pages?.map(page => page.traces.length) ?? [])
  const canGoOn = hasNextPage && !isFetchingNextPage && !isPlaceholderData && !isPaused && !list.isFetchNextPageError
  const onEnd = useCallback(() => {
    if (canGoOn) void fetchNextPage()
  }, [canGoOn, fetchNextPage])
  const onFilter = useCallback(
    ({ path, value }: MetadataLeaf) => setAddress(withParameters({ [metadataName(path)]: value })),
    [setAddress],
  )

  const onSort = (sort: string | null) => setAddress(withParameters({ sort }))

  const typeName = useErrorTypeNames()
  const context = useMemo(() => ({ project, typeName, contains, onFilter }), [project, typeName, contains, onFilter])
  const columns = useColumns()
  const isWide = useWideRows()
  const selected = useSelection(`${project} ${filters}`, traces)
  const selection = useMay('manage') === true && isWide ? selected : undefined

  // Most readers open a trace next.
  usePreload(() => import('../trace/page.tsx'))

  const isEmpty = pages !== undefined && !isPlaceholderData && traces.length === 0 && !hasNextPage
  const lookedBackTo = pages?.at(-1)?.lookedBackTo ?? null
  return (
    <div className={classes.page}>
      <Group justify="space-between" align="start">
        <Title order={1}>Traces</Title>
        <ListSwitch shown="traces" project={project} />
      </Group>
      {project !== undefined && (
        <FilterBar filters={traceFilters} pinned={PINNED_FILTERS} searchName="contains" onClear={withoutTraceFilters}>
          <LateViewsMenu page="traces" queryOf={queryOf} withoutFilters={withoutTraceFilters} />
          <LateExportList name="traces" project={project} filters={queryOf(address)} />
          {isWide && <ColumnsMenu {...columns} />}
          {selection && <DeleteTraces traces={selection.items} />}
        </FilterBar>
      )}
      <Expired count={pages?.[0]?.expired ?? 0} one="answer" many="answers" />
      {!isPlaceholderData && (
        <>
          <SearchNotes pages={pages} />
          <SortNote sortedOver={pages?.[0]?.sortedOver} />
        </>
      )}
      {list.error && !pages ? (
        <FaultAlert error={list.error} title="Couldn't load the traces" onRetry={list.refetch} />
      ) : project === undefined ? (
        <NoProject />
      ) : isEmpty ? (
        <NoTraces
          projectSlug={project}
          isFiltered={queryOf(address) !== ''}
          onClear={() => setAddress(withoutTraceFilters)}
        />
      ) : (
        <TraceTable
          list={isPlaceholderData ? undefined : `${project} ${filters}`}
          traces={traces}
          columns={columns.columns}
          context={context}
          sorted={address.get('sort')}
          onSort={contains === null ? onSort : undefined}
          selection={selection}
          isLoading={list.isPending}
          isStale={isPlaceholderData}
          offset={offset}
          onScroll={onScroll}
          onPointedAt={setPointedAt}
          onEnd={onEnd}
          above={<WaitingTraces count={waiting.length} hasMore={hasMore} onShow={show} />}
          below={
            !list.isPending && (
              <ListEnd
                length={traces.length}
                hasMore={hasNextPage}
                isSearch={contains !== null}
                isLoading={isFetchingNextPage || canGoOn}
                lookedBackTo={lookedBackTo}
                error={list.isFetchNextPageError ? list.error : null}
                onMore={fetchNextPage}
              />
            )
          }
        />
      )}
    </div>
  )
}
