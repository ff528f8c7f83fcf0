import { Anchor, Badge, Button, Stack, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Insights } from '../api/wire.ts'
import { IconTrendingDown, IconTrendingUp } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count, share } from '../parts/format.ts'
import { versionName } from './acceptance-series.ts'
import { mostNamed } from './error-counts.ts'
import classes from './insights.module.css'
import { decidedIn, decidedOf, type RankedStep, rankSteps, versionBefore, wilsonInterval } from './ranking.ts'
import { Section } from './section.tsx'

/** The number of steps listed at first. */
const FIRST = 5

interface FixNextProps {
  insights: Insights
  project: string
  typeNames: ReadonlyMap<string, string>
}

/** What to fix next: the steps by expected number of corrections. */
export function FixNext({ insights, project, typeNames }: FixNextProps) {
  const { ranked, unknown } = useMemo(() => rankSteps(insights), [insights])
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? ranked : ranked.slice(0, FIRST)
  return (
    <Section title="Fix next" description="Steps ranked by how many outputs are likely to need correction.">
      {ranked.length === 0 ? (
        <Text size="sm">No step has a correction and enough decisions to rank it.</Text>
      ) : (
        <ol className={classes.ranks}>
          {shown.map((step, index) => (
            <Rank
              key={step.stepId}
              step={step}
              place={index + 1}
              project={project}
              named={mostNamed(insights.errorTypes, step.stepId)}
              typeNames={typeNames}
            />
          ))}
        </ol>
      )}
      {ranked.length > shown.length && (
        <div>
          <Button variant="default" size="xs" onClick={() => setWhole(true)}>
            Show all {count(ranked.length)} steps
          </Button>
        </div>
      )}
      {unknown.length > 0 && <Unknown steps={unknown} project={project} />}
    </Section>
  )
}

interface RankProps {
  step: RankedStep
  place: number
  project: string
  named: ReturnType<typeof mostNamed>
  typeNames: ReadonlyMap<string, string>
}

function Rank({ step, place, project, named, typeNames }: RankProps) {
  const { stepId, active, waiting } = step
  const judged = decidedIn(step)
  const decided = decidedOf(judged)
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
          {count(judged.corrected)} of {count(decided)} reviewed outputs {active && 'from this version '}
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
          <Anchor component={Link} href={pathWith('/traces', { project, stepId, review: 'corrected' })} inherit>
            Corrected traces
          </Anchor>
          {/* A trace counts as corrected only when all of it is reviewed, so partly reviewed traces may have corrections. */}
          <Anchor component={Link} href={pathWith('/traces', { project, stepId, review: 'mixed' })} inherit>
            Partly reviewed traces
          </Anchor>
          {waiting > 0 && (
            <Anchor component={Link} href={pathWith('/review', { project, stepId })} inherit>
              {count(waiting)} {waiting === 1 ? 'output' : 'outputs'} to review
            </Anchor>
          )}
          <Anchor component={Link} href={promptPath(step, project)} inherit>
            {step.versions.length > 0 ? 'Open prompt' : 'Prompts'}
          </Anchor>
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
        Previous version, {name}: {was}. The difference may be chance.
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

/** Steps with too few decisions to rank, with links to review them. */
const Unknown = ({ steps, project }: { steps: readonly RankedStep[]; project: string }) => (
  <Text size="sm" component="div">
    Too few decisions to rank:{' '}
    {steps.slice(0, 10).map((step, index) => (
      <span key={step.stepId}>
        {index > 0 && ', '}
        <Anchor
          component={Link}
          href={pathWith('/review', { project, stepId: step.stepId })}
          inherit
          underline="always"
          className={classes.name}
        >
          <ShownText text={step.stepId} />
        </Anchor>{' '}
        ({count(decidedOf(step))} reviewed, {count(step.waiting)} to review)
      </span>
    ))}
    {steps.length > 10 && ` and ${count(steps.length - 10)} more`}.
  </Text>
)
