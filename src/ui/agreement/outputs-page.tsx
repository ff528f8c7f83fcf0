import { Anchor, Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { FilterPill } from '../parts/filter-pill.tsx'
import { counted } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { filtersIn, type OutputFilter } from './filters.ts'
import { GuidelineButton } from './guideline-button.tsx'
import { Votes } from './judgment.tsx'
import { outputsQuery } from './queries.ts'

/** The outputs behind a number on the agreement page, with everyone's votes. */
export function Page() {
  usePageTitle('Compared votes')
  const project = useProject()
  const [address] = useSearchParams()
  const filters = filtersIn(address)
  const query = useInfiniteQuery(outputsQuery(project, new URLSearchParams(filters).toString()))
  const outputs = query.data?.pages.flatMap(page => page.outputs)
  const people = (outputs ?? []).flatMap(({ votes, adjudication }) => [
    ...votes,
    ...(adjudication ? [adjudication] : []),
  ])
  const names = useNames([...people.map(({ by }) => by), address.get('reviewerId'), address.get('withReviewerId')])
  const nameOf = (userId: string) => names.get(userId) ?? '…'
  return (
    <Stack gap="sm">
      <div>
        <Anchor component={Link} href={pathWith('/agreement', { project })} size="sm">
          Agreement
        </Anchor>
        <Title order={1}>Compared votes</Title>
        <Text size="sm" c="dimmed">
          Outputs with each reviewer's first vote. Select a step to see the output in its trace.
        </Text>
      </div>
      {project === undefined && <NoProject />}
      <Group gap="xs">
        {filters.map(([name, value]) => (
          <FilterPill key={name} name={name} label={LABELS[name]} value={wordsOf(name, value, nameOf)} />
        ))}
      </Group>
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the outputs" onRetry={query.refetch} />
      )}
      {outputs?.length === 0 && <Empty title="No outputs match">Remove a filter to see more.</Empty>}
      {project !== undefined && outputs?.length !== 0 && !(query.error && !query.data) && (
        <StackedTable
          label="Compared votes"
          rows={outputs}
          keyOf={({ spanId, firstVoteAt }) => `${spanId} ${firstVoteAt}`}
          columns={[
            {
              label: 'Step',
              isNarrow: true,
              cell: ({ traceId, spanId, stepId, firstVoteAt }) => (
                <>
                  <TextLink href={pathWith(`/traces/${traceId}`, { project, span: spanId })} underline="always">
                    <span dir="auto">
                      <ShownText text={stepId} />
                    </span>
                  </TextLink>
                  <Text size="xs" c="dimmed">
                    <Moment at={firstVoteAt} />
                  </Text>
                </>
              ),
            },
            { label: 'Votes', cell: output => <Votes output={output} nameOf={nameOf} /> },
            { label: 'Guideline', isActions: true, cell: ({ stepId }) => <GuidelineButton stepId={stepId} /> },
          ]}
        />
      )}
      {outputs !== undefined && outputs.length > 0 && (
        <Text size="sm" c="dimmed" role="status">
          {query.hasNextPage && 'The first '}
          {counted(outputs.length, 'output')}
        </Text>
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const LABELS: Readonly<Record<OutputFilter, string>> = {
  label: 'Compared',
  agrees: 'Agreement',
  reviewerId: 'Reviewer',
  withReviewerId: 'Compared with',
  withAdjudicator: 'Compared with',
  apart: 'Votes',
  stepId: 'Step',
  from: 'First vote from',
  to: 'First vote before',
}

function wordsOf(name: OutputFilter, value: string, nameOf: (userId: string) => string): string {
  if (name === 'label') return value === 'decision' ? 'decisions' : 'error types'
  if (name === 'agrees') return value === 'true' ? 'same votes' : 'different votes'
  if (name === 'reviewerId' || name === 'withReviewerId') return nameOf(value)
  if (name === 'withAdjudicator') return 'the adjudicator'
  if (name === 'apart') return 'not included'
  if (name === 'from' || name === 'to') return value.slice(0, 10)
  return value
}
