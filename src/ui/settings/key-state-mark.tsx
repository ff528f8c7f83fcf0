import { Text } from '@mantine/core'
import { IconBan, IconCheck, IconClockExclamation, IconClockOff } from '../icons/index.ts'
import { Moment } from '../parts/moment.tsx'
import type { KeyState } from './key-state.ts'
import { StateLine } from './state-line.tsx'

const STATES = {
  active: { label: 'Active', Icon: IconCheck, color: 'var(--accepted)' },
  ending: { label: 'Replaced, works until', Icon: IconClockExclamation, color: 'var(--corrected)' },
  expired: { label: 'Expired', Icon: IconClockOff, color: 'var(--unreviewed)' },
  revoked: { label: 'Revoked', Icon: IconBan, color: 'var(--negative)' },
} as const

/** A key's state. */
export function KeyStateMark({ state }: { state: KeyState }) {
  return (
    <>
      <StateLine {...STATES[state.state]} />
      {'at' in state && (
        <Text size="xs" c="dimmed">
          <Moment at={state.at} />
        </Text>
      )}
    </>
  )
}
