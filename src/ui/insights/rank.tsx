import { Badge, Stack, Text } from '@mantine/core'
import { nounFor } from '../../domain/counted.ts'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { IconTrendingDown, IconTrendingUp } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { counted, share } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { useProblemName } from '../problems/name.tsx'
import { problemPath } from '../problems/paths.ts'
import { versionName } from './acceptance-series.ts'
import type { MostNamed } from './error-counts.ts'
import classes from './insights.module.css'
import type { Paths } from './paths.ts'
import { decidedIn, decidedOf, type RankedStep, versionBefore } from './ranking.ts'
import type { WindowDays } from './window.ts'

interface RankProps {
  step: RankedStep
  /** What to fix in the step. */
  problem: Problem | undefined
  days: WindowDays
  place: number
  project: string
  named: MostNamed | undefined
  typeNames: ReadonlyMap<string, string>
  paths: Paths
}

/** A step in the list of what to fix next. */
export function Rank({ step, problem, days, place, project, named, typeNames, paths }: RankProps) {
  const { stepId, active, waiting } = step
  const nameOf = useProblemName()
  const judged = decidedIn(step)
  const decided = decidedOf(judged)
  const filters = { stepId, promptVersionId: active?.version.id ?? null }
  const corrections = paths.decisions({ ...filters, decision: 'correct' })
  return (
    <li className={classes.rank}>
      <span className={classes.place}>{place}</span>
      <Stack gap={4}>
        <Text fw={600} component="h3" size="md" dir="auto">
          <span className={classes.name}>
            <ShownText text={stepId} />
          </span>{' '}
          {active && (
            <Badge variant="default" size="sm" tt="none" fw={500}>
              <ShownText text={versionName(active.version, stepId)} /> is live
            </Badge>
          )}
        </Text>
        <Text size="sm">
          <Counted
            value={judged.corrected}
            path={corrections}
            label={`${counted(judged.corrected, 'correction')} on ${stepId}`}
          />{' '}
          of{' '}
          <Counted
            value={decided}
            path={paths.decisions(filters)}
            label={`${counted(decided, 'decision')} on ${stepId}`}
          />{' '}
          reviewed {nounFor(decided, 'output')} {active && 'from this version '}
          {judged.corrected === 1 ? 'was' : 'were'} corrected. At this rate,{' '}
          {step.expected === 0
            ? 'there may be no corrections'
            : `expect at least ${counted(step.expected, 'correction')}`}{' '}
          in{' '}
          <Counted
            value={step.outputs}
            // If this equals the number of decisions, it counts them, and some may be on older outputs.
            path={step.outputs > decidedOf(step) ? paths.outputs({ stepId }) : null}
            label={`${counted(step.outputs, 'output')} from ${stepId}`}
          />{' '}
          {nounFor(step.outputs, 'output')}.
        </Text>
        {named && (
          <Text size="sm">
            {typeLabel(named, step.corrected > judged.corrected)}:{' '}
            <em>{typeNames.get(named.errorType) ?? <ShownText text={named.errorType} />}</em>
          </Text>
        )}
        <Trend step={step} paths={paths} />
        <Text size="sm" component="div" className={classes.links}>
          {problem && <TextLink href={problemPath(project, problem.id, days)}>Fix “{nameOf(problem)}”</TextLink>}
          {waiting > 0 && (
            <>
              <TextLink href={paths.outputs({ stepId, review: 'waiting' })}>
                {counted(waiting, 'output')} to review
              </TextLink>
              <TextLink href={pathWith('/review', { project, stepId })}>Review</TextLink>
            </>
          )}
          <TextLink href={promptPath(step, project)}>{step.versions.length > 0 ? 'Open prompt' : 'Prompts'}</TextLink>
        </Text>
      </Stack>
      <Share
        part={judged.corrected}
        whole={decided}
        likely={step.rate}
        path={corrections}
        label={`${share(judged.corrected, decided)} of decisions on ${stepId} corrected`}
      />
    </li>
  )
}

/** How an error type ranks among the step's error types. Their counts include all versions. */
const typeLabel = ({ source, isMost, isOnly }: MostNamed, isAcross: boolean): string =>
  [
    isOnly ? 'Error type' : isMost ? 'Most frequent error type' : 'One of the most frequent error types',
    isAcross && ' across versions',
    source === 'engine' && ', according to the engine',
  ]
    .filter(Boolean)
    .join('')

const promptPath = ({ versions }: RankedStep, project: string): string => {
  const promptId = versions[0]?.version.promptId
  return pathWith(promptId === undefined ? '/prompts' : `/prompts/${promptId}`, { project })
}

interface ShareProps {
  part: number
  whole: number
  likely: RankedStep['rate']
  path: string
  label: string
}

/** The share of corrected outputs, with its confidence interval. */
function Share({ part, whole, likely: { low, high }, ...link }: ShareProps) {
  return (
    <div className={classes.share}>
      <Text size="xs" mb={4}>
        <CountedShare part={part} whole={whole} {...link} /> corrected
      </Text>
      <div className={classes.meter} aria-hidden>
        <div className={classes.part} style={{ width: `${(100 * part) / whole}%` }} />
        <div
          className={classes.reach}
          style={{ insetInlineStart: `${100 * low}%`, insetInlineEnd: `${100 - 100 * high}%` }}
        />
      </div>
      <Text size="xs" c="dimmed" mt={2}>
        likely {share(low, 1)} to {share(high, 1)}
      </Text>
    </div>
  )
}

/** The live version compared with the previous one. */
function Trend({ step: { active, versions, trend, stepId }, paths }: { step: RankedStep; paths: Paths }) {
  const before = active && versionBefore(active, versions)
  if (!active || !before) return null
  const name = versionName(before.version, stepId)
  const filters = { stepId, promptVersionId: before.version.id }
  const was = (
    <>
      <Counted
        value={before.corrected}
        path={paths.decisions({ ...filters, decision: 'correct' })}
        label={`${counted(before.corrected, 'correction')} on ${stepId}, ${name}`}
      />{' '}
      of{' '}
      <Counted
        value={decidedOf(before)}
        path={paths.decisions(filters)}
        label={`${counted(decidedOf(before), 'decision')} on ${stepId}, ${name}`}
      />{' '}
      ({share(before.corrected, decidedOf(before))})
    </>
  )
  if (trend === null) {
    return (
      <Text size="xs" c="dimmed">
        Previous version, {name}: {was}. The difference may be due to chance.
      </Text>
    )
  }
  const Icon = trend === 'worse' ? IconTrendingUp : IconTrendingDown
  return (
    <Text size="xs" c={trend === 'worse' ? 'var(--negative)' : 'var(--accepted)'}>
      <Icon size={13} aria-hidden style={{ verticalAlign: '-2px' }} />{' '}
      {trend === 'worse' ? 'Corrected more often' : 'Corrected less often'} than {name}: {was}.
      {trend === 'worse' && ' Consider rolling back.'}
    </Text>
  )
}
