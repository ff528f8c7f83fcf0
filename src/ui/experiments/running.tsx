import { Progress, Stack, Text } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { Warning } from '../parts/warning.tsx'
import { ModelRun, sentence } from './model-run.tsx'
import { RunCommand } from './run-command.tsx'

/** An experiment's progress, and why it ended. */
export function Running({ report }: { report: ExperimentReport }) {
  const { state, items, pending, lastResultAt, endReason, runner } = report
  if (state !== 'running') {
    return (
      <>
        {state === 'finished' ? (
          endReason !== null && (
            <Warning>
              <ShownText text={sentence(endReason)} />
            </Warning>
          )
        ) : (
          <Warning>
            {state === 'failed' ? (
              <ShownText text={whyFailed(report)} />
            ) : (
              'The experiment was canceled and accepts no more results.'
            )}{' '}
            {items === 1 ? (
              `The item has ${pending === 1 ? 'no' : 'a'} result.`
            ) : (
              <>
                {count(items - pending)} of {count(items)} items {items - pending === 1 ? 'has' : 'have'} a result.
              </>
            )}
          </Warning>
        )}
        <ModelRun report={report} />
      </>
    )
  }
  return (
    <Stack gap="xs" component="section" aria-label="Progress">
      <Text size="sm" role="status">
        {items === 1 ? (
          `The item has ${pending === 1 ? 'no result yet' : 'a result'}.`
        ) : (
          <>
            <b>
              {count(items - pending)} of {count(items)}
            </b>{' '}
            items {items - pending === 1 ? 'has' : 'have'} a result.
          </>
        )}{' '}
        {lastResultAt !== null && (
          <>
            The last result arrived on <Moment at={lastResultAt} precision="exact" />.
          </>
        )}{' '}
        This page updates automatically.
      </Text>
      <Progress value={(100 * (items - pending)) / items} aria-label="Items with a result" />
      <ModelRun report={report} />
      {runner === 'client' && <RunCommand report={report} />}
    </Stack>
  )
}

const whyFailed = ({ runner, endReason }: ExperimentReport): string =>
  endReason === null
    ? `The experiment failed because no result arrived for ${runner === 'model' ? 48 : 24} hours. It accepts no more results.`
    : `The experiment failed: ${sentence(endReason)}`
