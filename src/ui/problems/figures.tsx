import { Text } from '@mantine/core'
import { nounFor } from '../../domain/counted.ts'
import type { Problem } from '../api/wire.ts'
import type { TimeRange, WindowDays } from '../insights/window.ts'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { count, counted, share as percent } from '../parts/format.ts'
import { casesPath } from './paths.ts'

interface FiguresProps {
  problem: Problem
  project: string | undefined
  windows: { current: TimeRange; before: TimeRange }
  days: WindowDays
}

/**
 * How many outputs a problem affects, what share that is, and whether it's getting worse. Each number links to its
 * list.
 */
export function Figures({ problem, project, windows: { current, before }, days }: FiguresProps) {
  const { id, count: now, byReviewers, byEngine, share, trend } = problem
  const path = casesPath(project, id, current)
  const earlier = now - trend
  return (
    <Text size="sm">
      <Counted value={now} path={path} label={counted(now, 'affected output')} /> {nounFor(now, 'affected output')}
      {byEngine > 0 && (
        <>
          {' '}
          (
          {byReviewers > 0 && (
            <>
              <Counted
                value={byReviewers}
                path={casesPath(project, id, current, 'reviewer')}
                label={`${count(byReviewers)} according to reviewers`}
              />{' '}
              according to reviewers,{' '}
            </>
          )}
          <Counted
            value={byEngine}
            path={casesPath(project, id, current, 'engine')}
            label={`${count(byEngine)} according to the engine alone`}
          />{' '}
          according to the engine alone)
        </>
      )}
      {share !== null && (
        <>
          , <CountedShare part={share} whole={1} path={path} label={`${percent(share, 1)} of the step's decisions`} />{' '}
          of the step's decisions
        </>
      )}
      .{' '}
      <Text span size="xs" c="dimmed">
        {earlier === 0 ? (
          `None in the previous ${days} days.`
        ) : (
          <>
            {trendWords(trend)} the previous {days} days (
            <Counted
              value={earlier}
              path={casesPath(project, id, before)}
              label={`${counted(earlier, 'affected output')} in the previous ${days} days`}
            />
            ).
          </>
        )}
      </Text>
    </Text>
  )
}

const trendWords = (trend: number): string =>
  trend === 0 ? 'As many as in' : trend > 0 ? 'More than in' : 'Fewer than in'
