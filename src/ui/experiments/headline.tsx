import { Group, Text } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { ExperimentReport } from '../api/wire.ts'
import { Counted } from '../parts/counted.tsx'
import { count, itemCount } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { CHANGES, countWithName, type ItemFilter, OUTCOMES, withItemFilter } from './filters.ts'
import { intervalOf, passRate } from './pass-rate.ts'
import classes from './report.module.css'

const FIGURES = [
  { label: OUTCOMES.unjudged, filter: { outcome: 'unjudged' }, value: 'unjudged' },
  { label: CHANGES.regressed, filter: { change: 'regressed' }, value: 'regressed' },
  { label: CHANGES.fixed, filter: { change: 'fixed' }, value: 'fixed' },
  { label: OUTCOMES.failed, filter: { outcome: 'failed' }, value: 'failed' },
  { label: OUTCOMES.error, filter: { outcome: 'error' }, value: 'error' },
] as const

/** An experiment's numbers, each with a link to the items that it counts. */
export function Headline({ report }: { report: ExperimentReport }) {
  const { id, counts } = report
  const [address] = useSearchParams()
  const pathTo = (filter: ItemFilter) => `/experiments/${id}?${withItemFilter(filter)(address)}`
  const settled = counts.passed + counts.failed + counts.error
  return (
    <section aria-label="Result">
      <Group gap="xl" align="start" className={classes.figures}>
        <div>
          <Text size="sm">Pass rate</Text>
          <Text className={classes.figure}>{passRate(report)}</Text>
          <Text size="xs" c="dimmed">
            {settled > 0 && (
              <>
                {intervalOf(report)} (95% interval)
                <br />
              </>
            )}
            <Counted
              value={counts.passed}
              path={pathTo({ outcome: 'passed' })}
              label={`${count(counts.passed)} passed`}
            />{' '}
            of {count(settled)} judged
          </Text>
        </div>
        {FIGURES.map(({ label, filter, value }) => (
          <div key={value}>
            <Text size="sm">{label}</Text>
            <Text className={classes.figure}>
              <Counted value={counts[value]} path={pathTo(filter)} label={countWithName(counts[value], label)} />
            </Text>
          </div>
        ))}
      </Group>
      <SmallPrint report={report} />
    </section>
  )
}

/** What the numbers are compared with, and what they leave out. */
function SmallPrint({ report: { id, baseline, counts, items, pending, removed } }: { report: ExperimentReport }) {
  const project = useProject()
  return (
    <Text size="xs" c="dimmed" mt="xs" maw={760}>
      {itemCount(items)}
      {pending > 0 && (items === 1 ? ', without a result' : `, ${count(pending)} of them without a result`)}.{' '}
      {counts.error > 0 && 'Errors count as not passed. '}
      {counts.unjudged > 0 && "Unjudged items don't count toward the pass rate until a person decides on them. "}
      {removed > 0 &&
        `${itemCount(removed)} ${removed === 1 ? 'has' : 'have'} been deleted since the experiment began. `}
      {baseline === 'recorded' ? (
        'The counts of fixed and regressed items are relative to the outputs in production. The expected values are based on those outputs, so a significance test would be misleading.'
      ) : (
        <>
          The counts of fixed and regressed items are relative to{' '}
          <TextLink href={pathWith(`/experiments/${baseline}/compare/${id}`, { project })} underline="always">
            another experiment
          </TextLink>
          .
        </>
      )}
    </Text>
  )
}
