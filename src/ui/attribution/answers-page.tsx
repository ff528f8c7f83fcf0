import { Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { FilterPill } from '../parts/filter-pill.tsx'
import { counted, share } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { parametersIn } from '../parts/parameters.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { ANSWER_FILTERS, filtersIn } from './filters.ts'
import { answersQuery } from './queries.ts'

/** The answers behind a number on the attribution page, each with a link to its span. */
export function Page() {
  usePageTitle('Compared answers')
  const project = useProject()
  const [address] = useSearchParams()
  const query = useInfiniteQuery(answersQuery(project, filtersIn(address)))
  const answers = query.data?.pages.flatMap(page => page.answers)
  const names = useNames((answers ?? []).map(({ reviewedBy }) => reviewedBy))
  const typeName = useErrorTypeNames()
  return (
    <Stack gap="sm">
      <div>
        <Title order={1}>Compared answers</Title>
        <Text size="sm" c="dimmed">
          Traces that have both an engine's answer and a reviewer's error type. Select a step to see it in its trace.
        </Text>
      </div>
      {project === undefined && <NoProject />}
      <Group gap="xs">
        {parametersIn(ANSWER_FILTERS, address).map(([name, value]) => (
          <FilterPill key={name} name={name} label={LABELS[name]} value={wordsOf(name, value, typeName)} />
        ))}
      </Group>
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the answers" onRetry={query.refetch} />
      )}
      {answers?.length === 0 && <Empty title="No answers match">Remove a filter to see more.</Empty>}
      {project !== undefined && answers?.length !== 0 && !(query.error && !query.data) && (
        <StackedTable
          label="Compared answers"
          rows={answers}
          keyOf={({ traceId }) => traceId}
          columns={[
            {
              label: 'Step',
              cell: ({ traceId, spanId, stepId }) => (
                <TextLink href={pathWith(`/traces/${traceId}`, { project, span: spanId })}>
                  <span dir="auto">
                    <ShownText text={stepId} />
                  </span>
                </TextLink>
              ),
            },
            {
              label: "Engine's answer",
              cell: ({ errorType, confidence }) => (
                <>
                  <ShownText text={typeName(errorType)} /> ({share(confidence, 1)} sure)
                </>
              ),
            },
            {
              label: "Reviewer's error type",
              cell: ({ reviewedErrorType }) => <ShownText text={typeName(reviewedErrorType)} />,
            },
            {
              label: 'Reviewer',
              cell: ({ reviewedBy }) => (
                <span dir="auto">
                  <ShownText text={names.get(reviewedBy) ?? reviewedBy} />
                </span>
              ),
            },
            { label: 'Reviewed', isNarrow: true, cell: ({ reviewedAt }) => <Moment at={reviewedAt} /> },
            {
              label: 'Engine',
              cell: ({ engine, engineVersion }) => (
                <>
                  <ShownText text={engine} />, version <ShownText text={engineVersion} />
                </>
              ),
            },
          ]}
        />
      )}
      {answers !== undefined && answers.length > 0 && (
        <Text size="sm" c="dimmed" role="status">
          {query.hasNextPage && 'The first '}
          {counted(answers.length, 'answer')}
        </Text>
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const LABELS: Readonly<Record<(typeof ANSWER_FILTERS)[number], string>> = {
  errorType: "Engine's answer",
  reviewedErrorType: "Reviewer's error type",
  agrees: 'Agreement',
  tenth: 'Confidence',
  engine: 'Engine',
  engineVersion: 'Version',
  from: 'Reviewed from',
  to: 'Reviewed before',
}

function wordsOf(
  name: (typeof ANSWER_FILTERS)[number],
  value: string,
  typeName: (errorType: string) => string,
): string {
  if (name === 'errorType' || name === 'reviewedErrorType') return typeName(value)
  if (name === 'agrees') return value === 'true' ? 'same error type' : 'different error types'
  if (name === 'tenth') return `${share(Number(value), 10)} to ${share(Number(value) + 1, 10)}`
  if (name === 'from' || name === 'to') return value.slice(0, 10)
  return value
}
