import { Button, Group, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Insights } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import { type AcceptanceLine, acceptanceByStep, type StepAcceptance } from './acceptance-series.ts'
import classes from './insights.module.css'
import { AcceptancePanel } from './lazy-charts.tsx'
import { lineStyle } from './line-style.ts'
import type { Paths } from './paths.ts'
import { decidedOf, FEW_DECISIONS } from './ranking.ts'
import { ChartSection, ScrolledTable } from './section.tsx'
import { type Bucket, bucketName } from './window.ts'

/** The number of charts shown at first. */
const FIRST = 6

interface AcceptanceProps {
  insights: Insights
  buckets: readonly Bucket[]
  paths: Paths
}

/** Each step's acceptance over time, with a line for each prompt version. */
export function Acceptance({ insights, buckets, paths }: AcceptanceProps) {
  const steps = useMemo(() => acceptanceByStep(insights, buckets), [insights, buckets])
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? steps : steps.slice(0, FIRST)
  return (
    <ChartSection
      title="Acceptance by step and prompt version"
      description={`Share of reviewed outputs that were accepted unchanged. Larger dots mean more decisions. Hollow dots and faint lines mean fewer than ${FEW_DECISIONS} decisions.`}
      chart={
        <>
          <div className={classes.panels}>
            {shown.map(step => (
              <StepPanel key={step.stepId} step={step} buckets={buckets} paths={paths} />
            ))}
          </div>
          {steps.length > shown.length && (
            <div>
              <Button variant="default" size="xs" onClick={() => setWhole(true)}>
                Show all {count(steps.length)} steps
              </Button>
            </div>
          )}
        </>
      }
      table={() => <AcceptanceTable steps={steps} buckets={buckets} paths={paths} />}
    />
  )
}

/** Where to see a line's decisions. Null if it has more versions than a filter accepts. */
const pathOfLine = (
  paths: Paths,
  stepId: string,
  promptVersionId: AcceptanceLine['promptVersionId'],
  decision: string,
  bucket?: Bucket,
): string | null =>
  promptVersionId === null
    ? null
    : paths.decisions({ stepId, promptVersionId: promptVersionId ?? null, decision }, bucket)

interface StepPanelProps extends Omit<AcceptanceProps, 'insights'> {
  step: StepAcceptance
}

function StepPanel({ step, buckets, paths }: StepPanelProps) {
  const { stepId, accepted, lines } = step
  const decided = decidedOf(step)
  return (
    <div className={classes.panel}>
      <Group justify="space-between" gap="xs" wrap="nowrap" align="start">
        <Text component="h3" size="sm" fw={600} className={classes.name} dir="auto" lineClamp={2}>
          <ShownText text={stepId} />
        </Text>
        <Text size="xs" c="dimmed" flex="none">
          <CountedShare
            part={accepted}
            whole={decided}
            path={paths.decisions({ stepId, decision: 'accept' })}
            label={`${share(accepted, decided)}: ${counted(accepted, 'accepted output')} from ${stepId}`}
          />{' '}
          of{' '}
          <Counted
            value={decided}
            path={paths.decisions({ stepId })}
            label={`${counted(decided, 'decision')} on ${stepId}`}
          />
        </Text>
      </Group>
      <ul className={classes.lines}>
        {lines.map(({ key, label, promptVersionId, isActive, total }, index) => (
          <li key={key}>
            <svg width={22} height={8} aria-hidden="true" className={classes.sample}>
              <line
                x1={0}
                x2={22}
                y1={4}
                y2={4}
                stroke={lineStyle(index).color}
                strokeWidth={2}
                strokeDasharray={lineStyle(index).dashes}
              />
            </svg>
            <span>
              <ShownText text={label} />
              {isActive && ' (active)'}{' '}
              <CountedShare
                part={total.accepted}
                whole={decidedOf(total)}
                path={pathOfLine(paths, stepId, promptVersionId, 'accept')}
                label={`${share(total.accepted, decidedOf(total))}: ${counted(total.accepted, 'accepted output')} from ${stepId}, ${label}`}
              />
            </span>
          </li>
        ))}
      </ul>
      <AcceptancePanel
        label={`Acceptance for ${stepId} over time. Switch to the table for the numbers.`}
        lines={lines}
        buckets={buckets}
      />
    </div>
  )
}

interface AcceptanceTableProps extends Omit<AcceptanceProps, 'insights'> {
  steps: readonly StepAcceptance[]
}

function AcceptanceTable({ steps, buckets, paths }: AcceptanceTableProps) {
  const newestFirst = [...buckets.entries()].toReversed()
  return (
    <ScrolledTable label="Acceptance by step, prompt version, and day">
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Step</Table.Th>
            <Table.Th>Version</Table.Th>
            <Table.Th>Period</Table.Th>
            <Table.Th className={classes.number}>Accepted</Table.Th>
            <Table.Th className={classes.number}>Corrected</Table.Th>
            <Table.Th className={classes.number}>Acceptance rate</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {steps.flatMap(({ stepId, lines }) =>
            lines.flatMap(({ key, label, promptVersionId, points }) =>
              newestFirst.flatMap(([index, bucket]) => {
                const point = points[index]
                if (!point) return []
                const pathOf = (decision: string) => pathOfLine(paths, stepId, promptVersionId, decision, bucket)
                const place = `${stepId}, ${label}, ${bucketName(bucket)}`
                return (
                  <Table.Tr key={`${stepId} ${key} ${bucket.from}`}>
                    <Table.Td className={classes.name}>
                      <ShownText text={stepId} />
                    </Table.Td>
                    <Table.Td className={classes.reviewer}>
                      <ShownText text={label} />
                    </Table.Td>
                    <Table.Td>{bucketName(bucket)}</Table.Td>
                    <Table.Td className={classes.number}>
                      <Counted
                        value={point.accepted}
                        path={pathOf('accept')}
                        label={`${count(point.accepted)} accepted: ${place}`}
                      />
                    </Table.Td>
                    <Table.Td className={classes.number}>
                      <Counted
                        value={point.corrected}
                        path={pathOf('correct')}
                        label={`${count(point.corrected)} corrected: ${place}`}
                      />
                    </Table.Td>
                    <Table.Td className={classes.number}>
                      <CountedShare
                        part={point.accepted}
                        whole={decidedOf(point)}
                        path={pathOf('accept')}
                        label={`${share(point.accepted, decidedOf(point))} accepted: ${place}`}
                      />
                    </Table.Td>
                  </Table.Tr>
                )
              }),
            ),
          )}
        </Table.Tbody>
      </Table>
    </ScrolledTable>
  )
}
