import { Alert, Group, Stack, Text, Title } from '@mantine/core'
import { wilsonInterval } from '../../domain/statistics.ts'
import type { WatchedSide } from '../../domain/watch.ts'
import { pathWith } from '../api/client.ts'
import type { Watch } from '../api/wire.ts'
import { Counted } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { useProject } from '../session/project.ts'
import classes from './watch-section.module.css'
import { findingOf, outlookOf } from './watch-words.ts'

/** How a prompt's active version compares with the previous one. */
export function WatchSection({ promptId, watch }: { promptId: string; watch: Watch }) {
  const { before, after, state, versionNumber, previousVersionNumber, rolledBack } = watch
  const outlook = outlookOf(watch)
  return (
    <section aria-label="Watch" className={classes.box}>
      <Group justify="space-between" className={classes.bar} wrap="nowrap">
        <Title order={3}>Since it became active</Title>
        <Text size="xs" c="dimmed">
          <Moment at={watch.activatedAt} />
        </Text>
      </Group>
      <Stack gap={6} p="xs">
        {rolledBack && (
          <Alert variant="default" title="Rolled back automatically" p="xs">
            Reviewers accepted {count(rolledBack.after.accepted)} of {count(rolledBack.after.n)} outputs from version{' '}
            {previousVersionNumber}, and {count(rolledBack.before.accepted)} of {count(rolledBack.before.n)} from the
            version before it.
          </Alert>
        )}
        <Text size="sm" className={classes.finding} data-state={state}>
          {findingOf(watch)}
        </Text>
        <dl className={classes.sides}>
          <Side promptId={promptId} side="before" number={previousVersionNumber} {...before} />
          <Side promptId={promptId} side="after" number={versionNumber} {...after} />
        </dl>
        <Text size="xs" c="dimmed">
          {outlook} Only the first decision that people make on each output counts. Imported decisions don't count. The
          lines show 95% intervals.
        </Text>
      </Stack>
    </section>
  )
}

interface SideProps {
  promptId: string
  side: WatchedSide
  /** The version's number. */
  number: number
  n: number
  accepted: number
}

/** One version's share of accepted outputs, as a bar with its interval and in words. */
function Side({ promptId, side, number, n, accepted }: SideProps) {
  const project = useProject()
  const interval = wilsonInterval(accepted, n)
  const list = (decision?: 'accept') =>
    pathWith('/spans', { project, watchedPromptId: promptId, watchedSide: side, decision })
  return (
    <div className={classes.side}>
      <dt>Version {number}</dt>
      <dd>
        <div className={classes.scale} aria-hidden>
          {interval && (
            <>
              <span className={classes.share} style={{ width: percent(accepted / n) }} />
              <span
                className={classes.interval}
                style={{ left: percent(interval.low), width: percent(interval.high - interval.low) }}
              />
            </>
          )}
        </div>
        <Text size="xs" c="dimmed" component="span">
          <Counted value={accepted} path={list('accept')} label={`${count(accepted)} accepted, version ${number}`} /> of{' '}
          <Counted value={n} path={list()} label={`${counted(n, 'decision')}, version ${number}`} /> accepted
          {n > 0 && ` (${share(accepted, n)})`}
        </Text>
      </dd>
    </div>
  )
}

const percent = (value: number): string => `${100 * value}%`
