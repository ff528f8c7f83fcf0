import { Progress, Stack, Text } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { Warning } from '../parts/warning.tsx'
import { RunCommand } from './run-command.tsx'

/** An experiment's progress. Nothing if it has finished. */
export function Running({ report }: { report: ExperimentReport }) {
  const { state, items, pending, lastResultAt } = report
  if (state === 'finished') return null
  if (state !== 'running') {
    return (
      <Warning>
        {state === 'failed'
          ? "It failed because no result arrived for 24 hours. It doesn't take results anymore."
          : "It was canceled and doesn't take results anymore."}{' '}
        {count(items - pending)} of {count(items)} items have a result.
      </Warning>
    )
  }
  return (
    <Stack gap="xs" component="section" aria-label="Progress">
      <Text size="sm" role="status">
        <b>
          {count(items - pending)} of {count(items)}
        </b>{' '}
        items have a result.{' '}
        {lastResultAt !== null && (
          <>
            The last one arrived <Moment at={lastResultAt} precision="exact" />.
          </>
        )}{' '}
        This page refreshes by itself.
      </Text>
      <Progress value={(100 * (items - pending)) / items} aria-label="Items with a result" />
      <RunCommand report={report} />
    </Stack>
  )
}
