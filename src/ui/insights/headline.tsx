import { Anchor, Group, Paper, Progress, SimpleGrid, Skeleton, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { nounFor } from '../../domain/counted.ts'
import { pathWith } from '../api/client.ts'
import type { Insights } from '../api/wire.ts'
import { IconMinus, IconTrendingDown, IconTrendingUp } from '../icons/index.ts'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { TextLink } from '../parts/text-link.tsx'
import classes from './insights.module.css'
import { type Paths, pathsIn } from './paths.ts'
import { decidedOf, sumOf } from './ranking.ts'
import { REVIEWERS_ID } from './reviewers.tsx'
import type { WindowDays } from './window.ts'

interface HeadlineProps {
  insights: Insights
  /** The previous period of the same length; undefined while loading. */
  before: Insights | undefined
  days: WindowDays
  project: string
  paths: Paths
}

/** Four key figures. */
export function Headline({ insights, before, days, project, paths }: HeadlineProps) {
  const decided = sumOf(insights.steps)
  const earlier = before && sumOf(before.steps)
  const { total, reviewed, countedAt } = insights.outputs
  const active = insights.reviewers.length
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Fact
        label="Reviewed outputs"
        figure={
          countedAt === null ? (
            '–'
          ) : (
            <CountedShare
              part={reviewed}
              whole={total}
              path={paths.outputs({ review: 'reviewed' })}
              label={`${share(reviewed, total)} of outputs reviewed`}
            />
          )
        }
        gauge={<Progress value={total === 0 ? 0 : (100 * reviewed) / total} size="xs" aria-hidden />}
      >
        {countedAt === null ? (
          'Still counting…'
        ) : (
          <>
            <Counted
              value={reviewed}
              path={paths.outputs({ review: 'reviewed' })}
              label={counted(reviewed, 'reviewed output')}
            />{' '}
            of <Counted value={total} path={paths.outputs()} label={counted(total, 'output')} />{' '}
            {nounFor(total, 'output')} from traces in this {days}-day period, as of <Moment at={countedAt} />
            {total > reviewed && (
              <>
                {'. '}
                <Counted
                  value={total - reviewed}
                  path={paths.outputs({ review: 'waiting' })}
                  label={`${counted(total - reviewed, 'output')} to review`}
                />{' '}
                left to{' '}
                <TextLink href={pathWith('/review', { project })} underline="always">
                  review
                </TextLink>
              </>
            )}
          </>
        )}
      </Fact>
      <Fact
        label="Accepted unchanged"
        figure={
          <CountedShare
            part={decided.accepted}
            whole={decidedOf(decided)}
            path={paths.decisions({ decision: 'accept' })}
            label={`${share(decided.accepted, decidedOf(decided))} accepted unchanged`}
          />
        }
      >
        of{' '}
        <Counted value={decidedOf(decided)} path={paths.decisions()} label={counted(decidedOf(decided), 'decision')} />{' '}
        {nounFor(decidedOf(decided), 'decision')} made in this {days}-day period, on traces of any age.{' '}
        {earlier && <ShareChange now={decided} before={earlier} days={days} />}
      </Fact>
      <Fact
        label="Corrections"
        figure={
          <Counted
            value={decided.corrected}
            path={paths.decisions({ decision: 'correct' })}
            label={counted(decided.corrected, 'correction')}
          />
        }
      >
        {before && earlier ? (
          <>
            <Counted
              value={earlier.corrected}
              path={pathsIn(project, before).decisions({ decision: 'correct' })}
              label={`${counted(earlier.corrected, 'correction')} in the previous ${days} days`}
            />{' '}
            in the previous {days} days
          </>
        ) : (
          ' '
        )}
      </Fact>
      <Fact
        label="Active reviewers"
        figure={
          active === 0 ? (
            '0'
          ) : (
            <Anchor href={`#${REVIEWERS_ID}`} inherit>
              {count(active)}
            </Anchor>
          )
        }
      >
        {before ? `${count(before.reviewers.length)} in the previous ${days} days` : ' '}
      </Fact>
    </SimpleGrid>
  )
}

/** A placeholder of the same size as the figures. */
export const HeadlineSkeleton = () => (
  <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
    {['reviewed', 'accepted', 'corrections', 'reviewers'].map(name => (
      <Skeleton key={name} h={122} />
    ))}
  </SimpleGrid>
)

interface FactProps {
  label: string
  figure: ReactNode
  gauge?: ReactNode
  children: ReactNode
}

const Fact = ({ label, figure, gauge, children }: FactProps) => (
  <Paper withBorder p="sm" mih={122}>
    <Text size="xs" c="dimmed">
      {label}
    </Text>
    <Text className={classes.figure} my={2}>
      {figure}
    </Text>
    {gauge}
    <Text size="xs" component="div" mt={4}>
      {children}
    </Text>
  </Paper>
)

interface ShareChangeProps {
  now: Parameters<typeof decidedOf>[0]
  before: Parameters<typeof decidedOf>[0]
  days: WindowDays
}

function ShareChange({ now, before, days }: ShareChangeProps) {
  if (decidedOf(before) === 0) return `No decisions in the previous ${days} days.`
  if (decidedOf(now) === 0) return `${share(before.accepted, decidedOf(before))} in the previous ${days} days.`
  const points = percentOf(now) - percentOf(before)
  const Icon = points > 0 ? IconTrendingUp : points < 0 ? IconTrendingDown : IconMinus
  const words =
    points === 0
      ? `Same as in the previous ${days} days`
      : `${points > 0 ? 'Up' : 'Down'} ${counted(Math.abs(points), 'point')} from ${share(before.accepted, decidedOf(before))} in the previous ${days} days`
  return (
    <Group component="span" gap={4} wrap="nowrap" align="start">
      <Icon size={14} aria-hidden style={{ flex: 'none', marginTop: 2 }} />
      {words}
    </Group>
  )
}

const percentOf = (decided: Parameters<typeof decidedOf>[0]): number =>
  Math.round((100 * decided.accepted) / decidedOf(decided))
