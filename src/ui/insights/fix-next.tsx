import { Button, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { pathWith } from '../api/client.ts'
import type { Insights, Problem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count, counted } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { mostNamed } from './error-counts.ts'
import classes from './insights.module.css'
import type { Paths } from './paths.ts'
import { Rank } from './rank.tsx'
import { decidedOf, type RankedStep, rankSteps } from './ranking.ts'
import { Section } from './section.tsx'
import type { WindowDays } from './window.ts'

/** The number of steps listed at first. */
const FIRST = 5

interface FixNextProps {
  insights: Insights
  problems: readonly Problem[]
  days: WindowDays
  project: string
  typeNames: ReadonlyMap<string, string>
  paths: Paths
}

/** The steps to fix next. The steps with the most expected corrections come first. */
export function FixNext({ insights, problems, days, project, typeNames, paths }: FixNextProps) {
  const { ranked, unknown } = useMemo(() => rankSteps(insights), [insights])
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? ranked : ranked.slice(0, FIRST)
  return (
    <Section
      title="Fix next"
      description="Steps ranked by the minimum number of corrections to expect if the next period has as many outputs as this one."
      controls={
        <TextLink href={pathWith('/problems', { project, days })} fz="sm">
          All problems
        </TextLink>
      }
    >
      {ranked.length === 0 ? (
        <Text size="sm">No step has both corrections and enough decisions to be ranked yet.</Text>
      ) : (
        <ol className={classes.ranks}>
          {shown.map((step, index) => (
            <Rank
              key={step.stepId}
              step={step}
              problem={problemOf(problems, step.stepId, mostNamed(insights.errorTypes, step.stepId)?.errorType)}
              days={days}
              place={index + 1}
              project={project}
              named={mostNamed(insights.errorTypes, step.stepId)}
              typeNames={typeNames}
              paths={paths}
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
      {unknown.length > 0 && <Unknown steps={unknown} project={project} paths={paths} />}
    </Section>
  )
}

/** The step's problem with this error type, or else its problem with the most cases. */
function problemOf(problems: readonly Problem[], stepId: string, errorType: string | undefined): Problem | undefined {
  const ofStep = problems.filter(problem => problem.stepId === stepId && problem.state !== 'dismissed')
  return ofStep.find(problem => problem.errorType === errorType) ?? ofStep[0]
}

interface UnknownProps extends Pick<FixNextProps, 'project' | 'paths'> {
  steps: readonly RankedStep[]
}

/** Steps with too few decisions to rank, with links to review them. */
const Unknown = ({ steps, project, paths }: UnknownProps) => (
  <Text size="sm" component="div">
    Too few decisions to rank:{' '}
    {steps.slice(0, 10).map((step, index) => (
      <span key={step.stepId}>
        {index > 0 && ', '}
        <TextLink
          href={pathWith('/review', { project, stepId: step.stepId })}
          underline="always"
          className={classes.name}
        >
          <ShownText text={step.stepId} />
        </TextLink>{' '}
        (
        <Counted
          value={decidedOf(step)}
          path={paths.decisions({ stepId: step.stepId })}
          label={`${counted(decidedOf(step), 'decision')} on ${step.stepId}`}
        />{' '}
        reviewed,{' '}
        <Counted
          value={step.waiting}
          path={paths.outputs({ stepId: step.stepId, review: 'waiting' })}
          label={`${counted(step.waiting, 'output')} from ${step.stepId} to review`}
        />{' '}
        to review)
      </span>
    ))}
    {steps.length > 10 && ` and ${count(steps.length - 10)} more`}.
  </Text>
)
