import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { Fault } from '../api/client.ts'
import { sessionQuery } from '../api/session.ts'
import type { Webhook, WebhookWithSecret } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { withParameters } from '../parts/parameters.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { OneProjectOnly } from './limits-of-key.tsx'
import { webhooksQuery } from './queries.ts'
import { TabBar } from './tab-bar.tsx'
import { DeleteWebhook, EditWebhook, NewWebhook, RotateSecret, WebhookSwitch } from './webhook-dialogs.tsx'
import { FORMATS } from './webhook-fields.tsx'
import { hostOf } from './webhook-host.ts'
import { WebhookStateMark } from './webhook-state-mark.tsx'
import { WordBadges } from './word-badges.tsx'
import { refreshWebhooks } from './writes.ts'

/** The organization's webhooks. */
export function WebhookList({ onMade }: { onMade: (webhook: WebhookWithSecret) => void }) {
  const [parameters] = useSearchParams()
  const query = useInfiniteQuery(webhooksQuery)
  const webhooks = query.data?.pages.flatMap(page => page.webhooks)
  const { data: session } = useQuery(sessionQuery)
  const projects = new Map(session?.projects.map(({ id, name }) => [id, name]))
  const fault = query.data ? null : query.error
  const columns: Column<Webhook>[] = [
    {
      label: 'Receiver',
      cell: webhook => (
        <>
          <TextLink
            size="sm"
            fw={600}
            href={`/settings/webhooks?${withParameters({ webhook: webhook.id })(parameters)}`}
          >
            {hostOf(webhook)}
          </TextLink>
          <Text size="xs" c="dimmed">
            {FORMATS[webhook.format].label}
            {webhook.description !== '' && (
              <>
                {' · '}
                <bdi>
                  <ShownText text={webhook.description} />
                </bdi>
              </>
            )}
          </Text>
        </>
      ),
    },
    { label: 'Events', cell: ({ events }) => <WordBadges words={events} /> },
    {
      label: 'Project',
      cell: ({ projectId }) => (projectId === null ? 'All' : <ShownText text={projects.get(projectId) ?? projectId} />),
    },
    { label: 'Enabled', cell: webhook => <WebhookSwitch webhook={webhook} />, isNarrow: true },
    { label: 'State', cell: webhook => <WebhookStateMark webhook={webhook} /> },
    {
      label: 'Actions',
      cell: webhook => (
        <Group gap={4} wrap="nowrap" justify="flex-end">
          <EditWebhook webhook={webhook} />
          <RotateSecret webhook={webhook} onMade={onMade} />
          <DeleteWebhook webhook={webhook} onDeleted={refreshWebhooks} />
        </Group>
      ),
      isActions: true,
    },
  ]
  return (
    <Stack gap="sm">
      <TabBar about="Webhooks notify other services of events in Countersign, such as reviews. Open a webhook to see its deliveries or send a test event.">
        {session && !fault && <NewWebhook session={session} onMade={onMade} />}
      </TabBar>
      <OneProjectOnly>
        Only this project's webhooks are listed, and new webhooks send this project's events.
      </OneProjectOnly>
      {fault ? (
        <FaultAlert
          error={fault}
          {...(fault instanceof Fault && fault.code === 'no_webhook_key' && { title: "Webhooks aren't set up" })}
          onRetry={query.refetch}
        />
      ) : webhooks?.length === 0 ? (
        <Empty title="No webhooks">Create one to send events to your own service or to Slack.</Empty>
      ) : (
        <StackedTable label="Webhooks" columns={columns} rows={webhooks} keyOf={({ id }) => id} />
      )}
      <ShowMore query={query} />
    </Stack>
  )
}
