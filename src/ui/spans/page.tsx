import { Box, Checkbox, Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import type { SpanList } from '../api/wire.ts'
import { FilterBar } from '../filters/filter-bar.tsx'
import { Matches } from '../filters/matches.tsx'
import { SearchNotes } from '../filters/search-notes.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { Expired } from '../parts/expired.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { counted } from '../parts/format.ts'
import { late } from '../parts/late.tsx'
import { LateExportList } from '../parts/late-export-list.tsx'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { useRefusal } from '../parts/scopes.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { isTired } from '../parts/tired.ts'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useNamedProblem } from '../problems/name.tsx'
import { useErrorTypes } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { ListSwitch } from '../traces/list-switch.tsx'
import { type Selection, useSelection } from '../traces/use-selection.ts'
import { useWideRows } from '../traces/use-wide-rows.ts'
import { LateViewsMenu } from '../views/late-views-menu.tsx'
import { queryOf, withoutSpanFilters } from './filters.ts'
import { spansQuery } from './queries.ts'
import { PINNED_FILTERS, spanFilters } from './span-filters.ts'

type ListedSpan = SpanList['spans'][number]

const NO_SPANS: readonly ListedSpan[] = []

/** Loads after the list. */
const AssignButton = late(
  async () => (await import('../assignments/assign-button.tsx')).AssignButton,
  () => null,
)

/** A project's spans across traces, such as the spans that a number in insights counts. */
export function Page() {
  usePageTitle('Spans')
  const project = useProject()
  const [address] = useSearchParams()
  const query = useInfiniteQuery(spansQuery(project, queryOf(address)))
  const spans = query.data?.pages.flatMap(page => page.spans)
  const assigneeIds = [
    address.get('assignee') ?? '',
    ...(spans ?? []).flatMap(({ assignees }) => assignees.map(({ userId }) => userId)),
  ].filter(id => !['', 'me', 'none'].includes(id))
  const userNames = useNames([
    ...(spans ?? []).map(({ review }) => review.by),
    address.get('reviewerId'),
    ...assigneeIds,
  ])
  const assignees = new Map([...userNames].filter(([id]) => assigneeIds.includes(id)))
  const filters = queryOf(address)
  const selected = useSelection(`${project} ${filters}`, spans ?? NO_SPANS)
  const isWide = useWideRows()
  const maySelect = useRefusal('manage', 'assign outputs') === null && isWide
  const typeNames = useErrorTypes()
  const problems = useNamedProblem(project, address)
  const contains = address.get('contains')
  const expired = query.data?.pages[0]?.expired ?? 0
  const isEmpty = spans?.length === 0 && !query.hasNextPage
  return (
    <Stack gap="sm">
      <div>
        <Group justify="space-between" gap="xs">
          <Title order={1}>Spans</Title>
          <ListSwitch shown="spans" project={project} />
        </Group>
        <Text size="sm" c="dimmed">
          Steps across traces. Select a step to see it in its trace.
        </Text>
      </div>
      {project === undefined ? (
        <NoProject />
      ) : (
        <FilterBar
          filters={spanFilters({ problems, errorTypes: typeNames, reviewers: userNames, assignees })}
          pinned={PINNED_FILTERS}
          searchName="contains"
          onClear={withoutSpanFilters}
        >
          <LateViewsMenu page="spans" queryOf={queryOf} withoutFilters={withoutSpanFilters} />
          <LateExportList name="spans" project={project} filters={filters} />
          {maySelect && selected.items.length > 0 && (
            <AssignButton
              label={`Assign ${counted(selected.items.length, 'output')}…`}
              title={`Assign ${counted(selected.items.length, 'output')}`}
              spans={{ spanIds: selected.items.map(({ id }) => id) }}
            />
          )}
        </FilterBar>
      )}
      {!query.isPlaceholderData && <SearchNotes pages={query.data?.pages} />}
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the spans" onRetry={query.refetch} />
      )}
      <Expired count={expired} one="decision" many="decisions" />
      {isEmpty && <Empty title="No spans match">Remove a filter to see more.</Empty>}
      {project !== undefined && !isEmpty && !(query.error && !query.data) && (
        <StackedTable
          label="Spans"
          columns={[
            ...(maySelect ? [selectColumn(selected)] : []),
            stepColumn(project),
            ...(contains === null ? [] : [matchColumn(project, contains)]),
            ...columnsOf(userNames, typeNames),
          ]}
          rows={spans}
          keyOf={({ id }) => id}
        />
      )}
      {spans !== undefined && spans.length > 0 && (
        <Text size="sm" c="dimmed" role="status">
          {query.hasNextPage && 'The first '}
          {counted(spans.length, 'span')}
        </Text>
      )}
      <ShowMore
        query={query}
        isPaused={isTired(query.data?.pages.map(page => page.spans.length) ?? [])}
        searchedTo={query.data?.pages.at(-1)?.searchedTo}
      />
    </Stack>
  )
}

const selectColumn = ({ ids, toggle }: Selection<ListedSpan>): Column<ListedSpan> => ({
  label: 'Select',
  isNarrow: true,
  cell: ({ id, stepId, trace }) => (
    <Checkbox
      size="xs"
      aria-label={`Select ${stepId} in ${trace.name}`}
      checked={ids.has(id)}
      onChange={({ nativeEvent }) => toggle(id, nativeEvent instanceof window.MouseEvent && nativeEvent.shiftKey)}
    />
  ),
})

const stepColumn = (project: string): Column<ListedSpan> => ({
  label: 'Step',
  cell: ({ id, stepId, trace }) => (
    <TextLink href={pathWith(`/traces/${trace.id}`, { project, span: id })}>
      <span dir="auto">
        <ShownText text={stepId} />
      </span>
    </TextLink>
  ),
})

const matchColumn = (project: string, contains: string): Column<ListedSpan> => ({
  label: 'Found',
  width: '30%',
  cell: ({ trace, matches }) =>
    matches && (
      <Matches
        matches={matches}
        sought={contains}
        pathOf={span => pathWith(`/traces/${trace.id}`, { project, span })}
        isWrapped
      />
    ),
})

const columnsOf = (
  userNames: ReadonlyMap<string, string>,
  typeNames: ReadonlyMap<string, string>,
): Column<ListedSpan>[] => [
  {
    label: 'Trace',
    cell: ({ trace }) => (
      <span dir="auto">
        <ShownText text={trace.name} />
      </span>
    ),
  },
  { label: 'Time', isNarrow: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
  {
    label: 'Review',
    cell: ({ review }) => (
      // Otherwise, wider columns would squeeze the badge.
      <Box miw="7rem">
        <ReviewState state={review.state} isStale={review.stale} isCompact />
      </Box>
    ),
  },
  { label: 'Decided', isNarrow: true, cell: ({ review }) => (review.at === null ? '–' : <Moment at={review.at} />) },
  {
    label: 'Assigned to',
    cell: ({ assignees }) =>
      assignees.length === 0
        ? '–'
        : assignees.map(({ userId, dueAt }) => (
            <div key={userId} dir="auto">
              <ShownText text={userNames.get(userId) ?? '…'} />
              {dueAt !== null && (
                <Text span size="xs" c="dimmed">
                  {' '}
                  due <Moment at={dueAt} precision="brief" />
                </Text>
              )}
            </div>
          )),
  },
  {
    label: 'Reviewer',
    cell: ({ review }) => (
      <span dir="auto">{review.by === null ? '–' : <ShownText text={userNames.get(review.by) ?? review.by} />}</span>
    ),
  },
  {
    label: 'Error type',
    cell: ({ review: { errorType } }) =>
      errorType === null ? '–' : <ShownText text={typeNames.get(errorType) ?? errorType} />,
  },
  { label: 'Model', cell: ({ model }) => (model === null ? '–' : <ShownText text={model} />) },
]
