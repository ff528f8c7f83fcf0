import { Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Comparison, ExperimentReport } from '../api/wire.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { OutcomeMark } from './marks.tsx'
import { comparisonQuery, reportQuery } from './queries.ts'
import { useProjectPrompts } from './use-prompt-versions.ts'
import { Verdict } from './verdict.tsx'

type Difference = Comparison['differences'][number]

/** Two experiments on the same dataset. */
export function Page() {
  usePageTitle('Compare experiments')
  const { a = '', b = '' } = useParams<{ a: string; b: string }>()
  const project = useProject()
  const first = useQuery(reportQuery(a))
  const second = useQuery(reportQuery(b))
  const query = useInfiniteQuery(comparisonQuery(a, b))
  useProjectPrompts(project)
  const comparison = query.data?.pages[0]
  const error = query.error ?? first.error ?? second.error
  const differences = query.data?.pages.flatMap(page => page.differences)
  return (
    <Stack gap="md">
      <div>
        <Anchor component={Link} href={pathWith('/experiments', { project })} size="sm">
          Experiments
        </Anchor>
        <Title order={1}>Compare experiments</Title>
      </div>
      {error && !comparison ? (
        <FaultAlert error={error} title="Couldn't compare these experiments" onRetry={query.refetch} />
      ) : !comparison || !first.data || !second.data ? (
        <Skeleton h={320} />
      ) : (
        <>
          <Verdict comparison={comparison} a={first.data} b={second.data} />
          {differences?.length === 0 && !query.hasNextPage ? (
            <Empty title="No differences">Every item has the same outcome in both experiments.</Empty>
          ) : (
            <StackedTable
              label="Items that differ"
              columns={columnsOf(first.data, second.data, project)}
              rows={differences}
              keyOf={({ itemId }) => itemId}
            />
          )}
        </>
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const columnsOf = (a: ExperimentReport, b: ExperimentReport, project: string | undefined): Column<Difference>[] => [
  {
    label: 'Item',
    cell: ({ itemId }) => (
      <Text span inherit ff="monospace">
        {itemId}
      </Text>
    ),
  },
  columnOf('A', a, project, difference => difference.a),
  columnOf('B', b, project, difference => difference.b),
]

/** The column of an experiment's outcomes. Each outcome links to the item in that experiment. */
const columnOf = (
  label: string,
  { id }: ExperimentReport,
  project: string | undefined,
  outcomeOf: (difference: Difference) => Difference['a'],
): Column<Difference> => ({
  label,
  cell: difference => (
    <Group gap={6}>
      <OutcomeMark outcome={outcomeOf(difference)} />
      <TextLink
        href={pathWith(`/experiments/${id}`, { project, itemId: difference.itemId })}
        underline="always"
        aria-label={`Show this item in ${label}`}
      >
        Show
      </TextLink>
    </Group>
  ),
})
