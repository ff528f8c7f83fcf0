import { Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { GroupList } from '../api/wire.ts'
import { IconThumbDown } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { withParameters } from '../parts/parameters.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { ListSwitch } from '../traces/list-switch.tsx'
import { conversationAddress, DEFAULT_KEY } from './address.ts'
import { KeyField } from './key-field.tsx'
import { groupsQuery } from './queries.ts'

type TraceGroup = GroupList['groups'][number]

/** A project's conversations: traces with the same metadata value. */
export function Page() {
  usePageTitle('Conversations')
  const project = useProject()
  const [address, setAddress] = useSearchParams()
  const key = address.get('key') || DEFAULT_KEY
  const query = useInfiniteQuery(groupsQuery(project, key))
  const pages = query.data?.pages
  const groups = useMemo(() => {
    const listed = pages?.flatMap(page => page.groups)
    // After a group's newest trace is deleted, a later page may list the group again, in the place of its older traces.
    return listed && [...new Map(listed.toReversed().map(group => [group.value, group])).values()].toReversed()
  }, [pages])
  const searchedTo = pages?.at(-1)?.searchedTo
  const isEmpty = groups?.length === 0 && !query.hasNextPage
  const hasFailed = query.error !== null && !query.data
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="start">
        <Title order={1}>Conversations</Title>
        <ListSwitch shown="conversations" project={project} />
      </Group>
      {project === undefined ? (
        <NoProject />
      ) : (
        <KeyField
          key={key}
          project={project}
          chosen={key}
          onChoose={chosen => setAddress(withParameters({ key: chosen === DEFAULT_KEY ? null : chosen }))}
        />
      )}
      {hasFailed && <FaultAlert error={query.error} title="Couldn't load the conversations" onRetry={query.refetch} />}
      {isEmpty && (
        <Empty title={`No traces have ${key} in their metadata`}>
          Send the same <code>group_id</code> in the metadata of every trace in a conversation. Session IDs from
          telemetry also become a <code>group_id</code>.
        </Empty>
      )}
      {project !== undefined && !isEmpty && !hasFailed && (
        <StackedTable
          label="Conversations"
          columns={columnsOf(project, key)}
          rows={query.isPlaceholderData ? undefined : groups}
          keyOf={({ value }) => value}
        />
      )}
      {query.hasNextPage && searchedTo && (
        <Text size="xs" c="dimmed" role="status">
          Searched back to <Moment at={searchedTo} />.
        </Text>
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const columnsOf = (project: string, key: string): Column<TraceGroup>[] => [
  {
    label: 'Conversation',
    cell: ({ value }) => (
      <TextLink href={conversationAddress(project, key, value)} lineClamp={2}>
        <span dir="auto">{value === '' ? 'empty value' : <ShownText text={value} />}</span>
      </TextLink>
    ),
  },
  {
    label: 'Traces',
    isNarrow: true,
    cell: ({ traces, tracesIsMinimum }) => `${count(traces)}${tracesIsMinimum ? ' or more' : ''}`,
  },
  {
    label: 'Negative feedback',
    isNarrow: true,
    cell: ({ negative }) =>
      negative === 0 ? (
        '–'
      ) : (
        <Group gap={4} wrap="nowrap" c="var(--negative)">
          <IconThumbDown size={14} aria-hidden />
          {count(negative)}
        </Group>
      ),
  },
  { label: 'First', isNarrow: true, cell: ({ firstAt }) => <Moment at={firstAt} /> },
  { label: 'Last', isNarrow: true, cell: ({ lastAt }) => <Moment at={lastAt} /> },
]
