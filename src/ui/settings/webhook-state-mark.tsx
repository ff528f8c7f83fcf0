import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Delivery, Webhook } from '../api/wire.ts'
import { IconAlertTriangle, IconBan, IconCheck, IconClockExclamation } from '../icons/index.ts'
import { Moment } from '../parts/moment.tsx'
import { StateLine } from './state-line.tsx'

const WHY_DISABLED: Readonly<Record<NonNullable<Webhook['disabledReason']>, string>> = {
  manager: 'By a manager',
  gone: 'The receiver returned 410 Gone',
  failing: 'Every delivery failed for five days',
}

/** Whether a webhook sends events, or why it doesn't. */
export function WebhookStateMark({ webhook }: { webhook: Webhook }) {
  const { enabled, disabledAt, disabledReason, failingSince, isReadable } = webhook
  if (!enabled) {
    return (
      <>
        <StateLine label="Disabled" Icon={IconBan} color="var(--unreviewed)" />
        <Detail>
          {disabledReason && WHY_DISABLED[disabledReason]}
          {disabledReason && disabledAt !== null && ', '}
          {disabledAt !== null && <Moment at={disabledAt} />}
        </Detail>
      </>
    )
  }
  if (!isReadable) {
    return (
      <>
        <StateLine label="Unreadable" Icon={IconAlertTriangle} color="var(--negative)" />
        <Detail>
          Encrypted with a different WEBHOOK_KEY: restore that key, or edit the URL and then replace the secret
        </Detail>
      </>
    )
  }
  if (failingSince === null) return <StateLine label="Enabled" Icon={IconCheck} color="var(--accepted)" />
  return (
    <>
      <StateLine label="Failing" Icon={IconAlertTriangle} color="var(--negative)" />
      <Detail>
        Since <Moment at={failingSince} />
      </Detail>
    </>
  )
}

const Detail = ({ children }: { children: ReactNode }) => (
  <Text size="xs" c="dimmed">
    {children}
  </Text>
)

const DELIVERY_STATES = {
  pending: { label: 'Pending', Icon: IconClockExclamation, color: 'var(--corrected)' },
  delivered: { label: 'Delivered', Icon: IconCheck, color: 'var(--accepted)' },
  failed: { label: 'Failed', Icon: IconBan, color: 'var(--negative)' },
} as const

/** A delivery's state. */
export const DeliveryStateMark = ({ state }: Pick<Delivery, 'state'>) => <StateLine {...DELIVERY_STATES[state]} />
