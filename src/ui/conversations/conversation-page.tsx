import { Group, SegmentedControl, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { IconArrowLeft } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { withParameters } from '../parts/parameters.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { metadataName } from '../traces/filters.ts'
import { conversationsAddress, DEFAULT_KEY } from './address.ts'
import classes from './conversation.module.css'
import { turnsQuery } from './queries.ts'
import { Turn } from './turn.tsx'

/** A conversation, read from top to bottom. */
export function Page() {
  const project = useProject()
  const [address, setAddress] = useSearchParams()
  const key = address.get('key') || DEFAULT_KEY
  const value = address.get('value') ?? ''
  const order = address.get('order') === 'newest' ? 'newest' : 'oldest'
  usePageTitle(`Conversation ${value}`)
  const query = useInfiniteQuery(turnsQuery(project, key, value, order))
  const turns = query.data?.pages.flatMap(page => page.turns)
  const names = useNames((turns ?? []).flatMap(({ feedback }) => feedback.map(({ userId }) => userId)))
  return (
    <Stack gap="sm" className={classes.page}>
      <div>
        <TextLink href={conversationsAddress(project, key)} className={classes.back}>
          <IconArrowLeft size={14} aria-hidden /> Conversations
        </TextLink>
        <Title order={1} className={classes.title} dir="auto">
          {value === '' ? 'empty value' : <ShownText text={value} />}
        </Title>
        <Group gap="sm" justify="space-between">
          <Text size="sm" c="dimmed">
            Traces with this{' '}
            <bdi>
              <ShownText text={key} />
            </bdi>
            {' · '}
            <TextLink href={pathWith('/traces', { project, [metadataName(key)]: value })} underline="always">
              View as a list
            </TextLink>
          </Text>
          <SegmentedControl
            size="xs"
            aria-label="Order"
            value={order}
            onChange={chosen => setAddress(withParameters({ order: chosen === 'newest' ? chosen : null }))}
            data={[
              { value: 'oldest', label: 'Oldest first' },
              { value: 'newest', label: 'Newest first' },
            ]}
          />
        </Group>
      </div>
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the conversation" onRetry={query.refetch} />
      )}
      {query.isPending && project !== undefined && <Skeleton h={240} aria-label="Loading the conversation" />}
      {turns?.length === 0 && !query.hasNextPage && (
        <Empty title="No traces have this value">Its traces may have been deleted, or they may have expired.</Empty>
      )}
      {turns && turns.length > 0 && (
        <ol className={classes.turns} aria-label="Turns">
          {turns.map(turn => (
            <li key={turn.id}>
              <Turn turn={turn} project={project} names={names} />
            </li>
          ))}
        </ol>
      )}
      <ShowMore query={query} />
    </Stack>
  )
}
