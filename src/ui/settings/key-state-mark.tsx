import { Group, Text } from '@mantine/core'
import { IconBan, IconCheck, IconClockExclamation, IconClockOff } from '../icons/index.ts'
import { Moment } from '../parts/moment.tsx'
import type { KeyState } from './key-state.ts'

const STATES = {
  active: { label: 'Active', Icon: IconCheck, color: 'var(--accepted)' },
  ending: { label: 'Replaced, works until', Icon: IconClockExclamation, color: 'var(--corrected)' },
  expired: { label: 'Expired', Icon: IconClockOff, color: 'var(--unreviewed)' },
  revoked: { label: 'Revoked', Icon: IconBan, color: 'var(--negative)' },
} as const

/** A key's state. */
export function KeyStateMark({ state }: { state: KeyState }) {
  const { label, Icon, color } = STATES[state.state]
  return (
    <>
      <Group gap={4} wrap="nowrap" c={color}>
        <Icon size={14} aria-hidden />
        <Text size="sm" inherit>
          {label}
        </Text>
      </Group>
      {'at' in state && (
        <Text size="xs" c="dimmed">
          <Moment at={state.at} />
        </Text>
      )}
    </>
  )
}
