import { Group, Select, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { DELIVERY_STATES } from '../../domain/webhook.ts'
import { EVENT_RETENTION_DAYS } from '../../limits/webhooks.ts'
import type { Delivery, WebhookWithSecret } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { withParameters } from '../parts/parameters.ts'
import { ShowMore } from '../parts/show-more.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { DeliveryDialog } from './delivery-dialog.tsx'
import { DeliveryTable } from './delivery-table.tsx'
import { deliveriesQuery, webhookQuery } from './queries.ts'
import { DeleteWebhook, EditWebhook, RotateSecret, WebhookSwitch } from './webhook-dialogs.tsx'
import { hostOf } from './webhook-host.ts'
import { WebhookStateMark } from './webhook-state-mark.tsx'
import { TestButton } from './webhook-test-button.tsx'
import { WordBadges } from './word-badges.tsx'
import { forgetWebhook } from './writes.ts'

const STATE_LABELS = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' } as const

interface WebhookViewProps {
  id: string
  onMade: (webhook: WebhookWithSecret) => void
}

/** A webhook and its deliveries. */
export function WebhookView({ id, onMade }: WebhookViewProps) {
  const [parameters, setParameters] = useSearchParams()
  const [, navigate] = useLocation()
  const state = DELIVERY_STATES.find(each => each === parameters.get('state')) ?? null
  const { data: webhook, error, refetch } = useQuery(webhookQuery(id))
  const query = useInfiniteQuery(deliveriesQuery(id, state))
  const deliveries = query.data?.pages.flatMap(page => page.deliveries)
  const [opened, setOpened] = useState<Delivery>()
  const toList = `/settings/webhooks?${withParameters({ webhook: null, state: null })(parameters)}`
  const fault = webhook ? (query.data ? null : query.error) : error
  return (
    <Stack gap="sm">
      <Text size="sm">
        <TextLink href={toList}>All webhooks</TextLink>
      </Text>
      {fault && <FaultAlert error={fault} onRetry={webhook ? query.refetch : refetch} />}
      {!error && !webhook && <Skeleton h={72} />}
      {webhook && (
        <Group justify="space-between" align="start" gap="sm">
          <Stack gap={4} flex="1 1 16rem" miw={0}>
            <Title order={2}>{hostOf(webhook)}</Title>
            {webhook.description !== '' && (
              <Text size="sm" c="dimmed" dir="auto">
                <ShownText text={webhook.description} />
              </Text>
            )}
            <WordBadges words={webhook.events} />
            {webhook.includeValues && (
              <Text size="xs" c="dimmed">
                Events include values.
              </Text>
            )}
            <WebhookStateMark webhook={webhook} />
          </Stack>
          <Group gap="xs">
            <WebhookSwitch webhook={webhook} />
            <TestButton webhook={webhook} />
            <EditWebhook webhook={webhook} />
            <RotateSecret webhook={webhook} onMade={onMade} />
            <DeleteWebhook
              webhook={webhook}
              onDeleted={() => {
                navigate(toList)
                return forgetWebhook(id)
              }}
            />
          </Group>
        </Group>
      )}
      {!fault && (
        <>
          <Group justify="space-between" align="end">
            <Stack gap={0}>
              <Title order={3}>Deliveries</Title>
              <Text size="sm" c="dimmed">
                Kept for {EVENT_RETENTION_DAYS} days, or until the trace is deleted
              </Text>
            </Stack>
            <Select
              size="xs"
              w={150}
              aria-label="Show deliveries"
              data={[
                { value: '', label: 'All' },
                ...DELIVERY_STATES.map(value => ({ value, label: STATE_LABELS[value] })),
              ]}
              allowDeselect={false}
              value={state ?? ''}
              onChange={chosen => setParameters(withParameters({ state: chosen }), { replace: true })}
            />
          </Group>
          {deliveries?.length === 0 ? (
            <Empty title={state === null ? 'No deliveries yet' : 'No deliveries in this state'}>
              {state === null
                ? 'Send a test event to see whether the receiver gets it.'
                : 'Choose a different state, or “All”.'}
            </Empty>
          ) : (
            <DeliveryTable deliveries={deliveries} onOpen={setOpened} />
          )}
          <ShowMore query={query} />
        </>
      )}
      {webhook && (
        <DeliveryDialog
          webhook={webhook}
          // The list has the latest state, unless the delivery no longer matches the filter.
          delivery={opened && (deliveries?.find(each => each.id === opened.id) ?? opened)}
          onChange={setOpened}
          onClose={() => setOpened(undefined)}
        />
      )}
    </Stack>
  )
}
