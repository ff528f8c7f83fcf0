import { Badge, Stack, Text } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import { IconTrendingDown, IconTrendingUp } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count, share } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { versionName } from './acceptance-series.ts'
import type { DecisionsPath } from './decisions-path.ts'
import type { mostNamed } from './error-counts.ts'
import classes from './insights.module.css'
import { decidedIn, decidedOf, type RankedStep, versionBefore, wilsonInterval } from './ranking.ts'

interface RankProps {
  step: RankedStep
  place: number
  project: string
  named: ReturnType<typeof mostNamed>
  typeNames: ReadonlyMap<string, string>
  pathTo: DecisionsPath
}

/** A step in the list of what to fix next. */
export function Rank({ step, place, project, named, typeNames, pathTo }: RankProps) {
  const { stepId, active, waiting } = step
  const judged = decidedIn(step)
  const decided = decidedOf(judged)
  const filters = { stepId, promptVersionId: active?.version.id ?? null }
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
            path={pathTo({ ...filters, decision: 'correct' })}
            label={`${count(judged.corrected)} corrections of ${stepId}`}
          />{' '}
          of <Counted value={decided} path={pathTo(filters)} label={`${count(decided)} decisions on ${stepId}`} />{' '}
          reviewed outputs {active && 'from this version '}
          {judged.corrected === 1 ? 'was' : 'were'} corrected ({share(judged.corrected, decided)})
          {named && (
            <>
              , most often <em>{typeNames.get(named.errorType) ?? <ShownText text={named.errorType} />}</em>
              {named.source === 'engine' && ' (according to the engine)'}
            </>
          )}
          .
          {step.outputs > decidedOf(step) &&
            ` At this rate, at least ${count(Math.max(step.corrected, Math.round(step.expected)))} of ${count(step.outputs)} outputs would need correcting.`}
        </Text>
        <Trend step={step} />
        <Text size="sm" component="div" className={classes.links}>
          <TextLink href={pathWith('/traces', { project, stepId, review: 'corrected' })}>Corrected traces</TextLink>
          {/* A trace counts as corrected only once it's fully reviewed, so partly reviewed traces may have corrections. */}
          <TextLink href={pathWith('/traces', { project, stepId, review: 'mixed' })}>Partly reviewed traces</TextLink>
          {waiting > 0 && (
            <TextLink href={pathWith('/review', { project, stepId })}>
              {count(waiting)} {waiting === 1 ? 'output' : 'outputs'} to review
            </TextLink>
          )}
          <TextLink href={promptPath(step, project)}>{step.versions.length > 0 ? 'Open prompt' : 'Prompts'}</TextLink>
        </Text>
      </Stack>
      <Share part={judged.corrected} whole={decided} />
    </li>
  )
}

const promptPath = ({ versions }: RankedStep, project: string): string => {
  const promptId = versions[0]?.version.promptId
  return pathWith(promptId === undefined ? '/prompts' : `/prompts/${promptId}`, { project })
}

/** The share of corrected outputs, with its confidence interval. */
function Share({ part, whole }: { part: number; whole: number }) {
  const { low, high } = wilsonInterval(part, whole)
  return (
    <div className={classes.share}>
      <Text size="xs" mb={4}>
        {share(part, whole)} corrected
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
function Trend({ step: { active, versions, trend, stepId } }: { step: RankedStep }) {
  const before = active && versionBefore(active, versions)
  if (!active || !before) return null
  const was = `${count(before.corrected)} of ${count(decidedOf(before))} (${share(before.corrected, decidedOf(before))})`
  const name = versionName(before.version, stepId)
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
      {trend === 'worse'
        ? `Corrected more often than ${name}: ${was}. Consider rolling back.`
        : `Corrected less often than ${name}: ${was}.`}
    </Text>
  )
}
