import { Progress as Bar, Group, Text } from '@mantine/core'
import { count } from '../parts/format.ts'
import { perHour } from './pace.ts'
import { useSitting } from './use-desk.ts'

interface ProgressProps {
  remaining: number | undefined
  isMinimum: boolean
  /** What this reviewer decided since midnight, UTC. */
  today: number
}

/** How far the queue is gone through, and how fast. */
export function QueueProgress({ remaining, isMinimum, today }: ProgressProps) {
  const { startedAt, decidedAt } = useSitting()
  const pace = perHour(startedAt, decidedAt)
  const done = decidedAt.length
  const whole = done + (remaining ?? 0)
  return (
    <Group gap="sm" wrap="nowrap" miw={0}>
      <Text size="sm" c="dimmed" role="status">
        <b>
          {isMinimum && 'at least '}
          {remaining === undefined ? '–' : count(remaining)}
        </b>{' '}
        to review · <b>{count(today)}</b> by you today
        {pace !== null && (
          <>
            {' '}
            · <b>{count(pace)}</b> an hour
          </>
        )}
      </Text>
      <Bar
        visibleFrom="md"
        value={whole === 0 ? 0 : (done / whole) * 100}
        size="sm"
        w={120}
        aria-label={`${done} of ${whole} done in this sitting`}
      />
    </Group>
  )
}
