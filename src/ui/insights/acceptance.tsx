import { Button, Group, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Insights } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count, share } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import { acceptanceByStep, type StepAcceptance } from './acceptance-series.ts'
import type { DecisionsPath } from './decisions-path.ts'
import classes from './insights.module.css'
import { AcceptancePanel } from './lazy-charts.tsx'
import { lineStyle } from './line-style.ts'
import { decidedOf, FEW_DECISIONS } from './ranking.ts'
import { ChartSection, ScrolledTable } from './section.tsx'
import { type Bucket, bucketName } from './window.ts'

/** The number of charts shown at first. */
const FIRST = 6

interface AcceptanceProps {
  insights: Insights
  buckets: readonly Bucket[]
  pathTo: DecisionsPath
}

/** Each step's acceptance over time, with a line for each prompt version. */
export function Acceptance({ insights, buckets, pathTo }: AcceptanceProps) {
  const steps = useMemo(() => acceptanceByStep(insights, buckets), [insights, buckets])
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? steps : steps.slice(0, FIRST)
  return (
    <ChartSection
      title="Acceptance by step and prompt version"
      description={`Share of reviewed outputs that were accepted unchanged. Larger dots mean more decisions. Hollow dots mean fewer than ${FEW_DECISIONS}.`}
      chart={
        <>
          <div className={classes.panels}>
            {shown.map(step => (
              <StepPanel key={step.stepId} step={step} buckets={buckets} pathTo={pathTo} />
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
      table={() => <AcceptanceTable steps={steps} buckets={buckets} pathTo={pathTo} />}
    />
  )
}

interface StepPanelProps extends Omit<AcceptanceProps, 'insights'> {
  step: StepAcceptance
}

function StepPanel({ step, buckets, pathTo }: StepPanelProps) {
  const { stepId, accepted, lines } = step
  const decided = decidedOf(step)
  return (
    <div className={classes.panel}>
      <Group justify="space-between" gap="xs" wrap="nowrap" align="start">
        <Text component="h3" size="sm" fw={600} className={classes.name} dir="auto" lineClamp={2}>
          <ShownText text={stepId} />
        </Text>
        <Text size="xs" c="dimmed" flex="none">
          {share(accepted, decided)} of{' '}
          <Counted value={decided} path={pathTo({ stepId })} label={`${count(decided)} decisions on ${stepId}`} />
        </Text>
      </Group>
      <ul className={classes.lines}>
        {lines.map(({ key, label, isActive, total }, index) => (
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
              {isActive && ' (active)'} {share(total.accepted, decidedOf(total))}
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

function AcceptanceTable({ steps, buckets, pathTo }: AcceptanceTableProps) {
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
                const pathOf = (decision: string) =>
                  promptVersionId === null
                    ? null
                    : pathTo({ stepId, promptVersionId: promptVersionId ?? null, decision }, bucket)
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
                    <Table.Td className={classes.number}>{share(point.accepted, decidedOf(point))}</Table.Td>
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
