import { Text } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { dollars } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { Warning } from '../parts/warning.tsx'

/**
 * The state of an experiment that the model runs: the cost of the model's calls, and what the run is waiting for.
 * Renders nothing if the team's own code runs it.
 */
export function ModelRun({ report: { run, state, model, items, maxCostUsd } }: { report: ExperimentReport }) {
  if (run === null) return null
  const { costUsd, reason, waitsUntil } = run
  return (
    <>
      <Text size="sm" c="dimmed">
        <ShownText text={model ?? 'The model'} /> {state === 'running' ? 'is running' : 'ran'}{' '}
        {items === 1 ? 'the item' : 'the items'}.{' '}
        {costUsd === null
          ? "Its price isn't configured, so the cost is unknown."
          : `Cost${state === 'running' ? ' so far' : ''}: ${dollars(costUsd)}${maxCostUsd === null ? '' : ` (limit: ${dollars(maxCostUsd)})`}.`}
      </Text>
      {reason !== null && (
        <Warning title={waitsUntil === null ? 'The last attempt failed' : 'The run is waiting'}>
          <ShownText text={sentence(reason)} />{' '}
          {waitsUntil === null ? (
            'The service will try again.'
          ) : (
            <>
              It will continue on <Moment at={waitsUntil} precision="exact" />.
            </>
          )}
        </Warning>
      )}
    </>
  )
}

/** A reason as a sentence. */
export const sentence = (reason: string): string => reason.replace(/\.?$/, '.')
