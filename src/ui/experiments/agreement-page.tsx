import { Anchor, Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import type { JudgedOutputs } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { FilterPill } from '../parts/filter-pill.tsx'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { parametersIn } from '../parts/parameters.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { DECISIONS, JUDGMENTS } from './filters.ts'
import { JudgmentMark } from './marks.tsx'
import { ModelAgreement } from './model-agreement.tsx'
import { judgmentsQuery } from './queries.ts'

type Judged = JudgedOutputs['judgments'][number]

const FILTERS = ['judgment', 'decision'] as const
const LABELS = { judgment: 'Model', decision: 'Person' } as const
const WORDS: Readonly<Record<string, string>> = { ...JUDGMENTS, ...DECISIONS }

/** The outputs of a step that both a model and a person judged. */
export function Page() {
  usePageTitle('Model and people')
  const project = useProject()
  const [address] = useSearchParams()
  const stepId = address.get('stepId') ?? ''
  const filters = parametersIn(FILTERS, address)
  const query = useInfiniteQuery(judgmentsQuery(project, stepId, filters))
  const judged = query.data?.pages.flatMap(page => page.judgments)
  const agreement = query.data?.pages[0]?.agreement
  const names = useNames((judged ?? []).map(({ review }) => review.by))
  const pathTo = (filter: object) => pathWith('/experiments/agreement', { project, stepId, ...filter })
  return (
    <Stack gap="sm">
      <div>
        <Anchor component={Link} href={pathWith('/experiments', { project })} size="sm">
          Experiments
        </Anchor>
        <Title order={1}>Model and people</Title>
        <Text size="sm" c="dimmed">
          Outputs from{' '}
          <span dir="auto">
            <ShownText text={stepId === '' ? 'a step' : stepId} />
          </span>{' '}
          that both a model and a person judged, across all experiments. People may have seen the model's judgment
          before they decided.
        </Text>
      </div>
      {project === undefined && <NoProject />}
      {agreement && <ModelAgreement agreement={agreement} pathTo={pathTo} />}
      <Group gap="xs">
        {filters.map(([name, value]) => (
          <FilterPill key={name} name={name} label={LABELS[name]} value={WORDS[value] ?? value} />
        ))}
      </Group>
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the outputs" onRetry={query.refetch} />
      )}
      {stepId === '' || judged?.length === 0 ? (
        <Empty title="No outputs match">
          Outputs appear here once a model has judged them and a person has decided on them.
        </Empty>
      ) : (
        project !== undefined &&
        !(query.error && !query.data) && (
          <StackedTable
            label="Judged outputs"
            rows={judged}
            keyOf={({ experimentId, itemId }) => `${experimentId} ${itemId}`}
            columns={columnsOf(project, names)}
          />
        )
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const columnsOf = (project: string, names: ReadonlyMap<string, string>): Column<Judged>[] => [
  {
    label: 'Item',
    isNarrow: true,
    cell: ({ experimentId, itemId }) => (
      <TextLink href={pathWith(`/experiments/${experimentId}`, { project, itemId })} underline="always">
        Show the item
      </TextLink>
    ),
  },
  {
    label: 'Model',
    cell: ({ judgment }) => (
      <>
        <JudgmentMark judgment={judgment} />
        <Text size="sm" dir="auto">
          <ShownText text={judgment.reason} />
        </Text>
        <Text size="xs" c="dimmed">
          <ShownText text={judgment.model} />
        </Text>
      </>
    ),
  },
  {
    label: 'Person',
    cell: ({ review: { decision, comment, by, at } }) => (
      <>
        {decision === 'accept' ? 'Accepted' : 'Rejected'} by <ShownText text={names.get(by) ?? '…'} />
        {comment !== null && (
          <>
            : <ShownText text={comment} />
          </>
        )}
        <Text size="xs" c="dimmed">
          <Moment at={at} />
        </Text>
      </>
    ),
  },
]
