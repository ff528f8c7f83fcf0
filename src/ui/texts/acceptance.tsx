import { Text } from '@mantine/core'
import { wilsonInterval } from '../../domain/statistics.ts'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { counted, share } from '../parts/format.ts'
import classes from './acceptance.module.css'

interface AcceptanceProps {
  accepted: number
  corrected: number
  /** The path to the decisions. Null if this is inside another link. */
  pathOf: ((decision: 'accept' | 'correct') => string) | null
}

/** How often reviewers accepted a version's outputs, as a bar and in words, with the uncertainty. */
export function Acceptance({ accepted, corrected, pathOf }: AcceptanceProps) {
  const decided = accepted + corrected
  const interval = wilsonInterval(accepted, decided)
  return (
    <div className={classes.acceptance}>
      <div className={classes.bar} aria-hidden>
        {accepted > 0 && <span className={classes.accepted} style={{ flexGrow: accepted }} />}
        {corrected > 0 && <span className={classes.corrected} style={{ flexGrow: corrected }} />}
      </div>
      <Text size="xs" c="dimmed">
        {interval === null ? (
          'No reviewed outputs yet'
        ) : (
          <>
            All time:{' '}
            <CountedShare
              part={accepted}
              whole={decided}
              path={pathOf?.('accept') ?? null}
              label={`${share(accepted, decided)} accepted`}
            />{' '}
            accepted (
            <Counted value={accepted} path={pathOf?.('accept') ?? null} label={counted(accepted, 'accepted output')} />{' '}
            accepted,{' '}
            <Counted
              value={corrected}
              path={pathOf?.('correct') ?? null}
              label={counted(corrected, 'corrected output')}
            />{' '}
            corrected). 95% interval: {share(interval.low, 1)} to {share(interval.high, 1)}
          </>
        )}
      </Text>
    </div>
  )
}
