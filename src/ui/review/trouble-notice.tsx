import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { navigate } from 'wouter/use-browser-location'
import type { SpanOfTrace } from '../api/wire.ts'
import { IconAlertTriangle } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import type { Trouble } from './sitting.ts'

/** Reports a failed decision on whichever page the reviewer is on, with a button to go back to the span. */
export function showTrouble(span: SpanOfTrace, { request, fault }: Trouble): void {
  const id = `review ${span.id}`
  const goBack = () => {
    notifications.hide(id)
    const parameters = new URLSearchParams(location.search)
    parameters.set('span', span.id)
    navigate(`/review?${parameters}`)
  }
  notifications.hide(id)
  notifications.show({
    id,
    color: 'red',
    icon: <IconAlertTriangle size={18} aria-hidden />,
    title: request === 'reset' ? "Couldn't undo the decision" : "Couldn't save. Your draft is still here.",
    autoClose: false,
    message: (
      <Group justify="space-between" align="end" gap="xs">
        <Text size="sm" lineClamp={3} flex="1 1 12rem">
          <ShownText text={span.stepId} />: {reasonOf(fault)}
        </Text>
        <Button size="compact-sm" variant="light" onClick={goBack}>
          Open
        </Button>
      </Group>
    ),
  })
}

const reasonOf = ({ status, heldBy, message }: Trouble['fault']): string => {
  if (status === 412) return 'someone else changed it'
  return heldBy === undefined ? message : 'someone else is reviewing it'
}

/** Hides the notice once the reviewer is back. */
export const hideTrouble = (spanId: string): string => notifications.hide(`review ${spanId}`)
