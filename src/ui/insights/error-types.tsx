import { Text, VisuallyHidden } from '@mantine/core'
import { type CSSProperties, useMemo } from 'react'
import { Link } from 'wouter'
import type { Insights } from '../api/wire.ts'
import { IconCpu, IconUser } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import { errorTypeTable, type Named } from './error-counts.ts'
import classes from './insights.module.css'
import type { Paths } from './paths.ts'
import { ScrolledTable, Section } from './section.tsx'

/** The darkest shade, in percent, that keeps a cell's text readable. */
const MAX_HEAT = 34

interface ErrorTypesProps {
  counts: Insights['errorTypes']
  typeNames: ReadonlyMap<string, string>
  paths: Paths
}

/** Error types by step, from reviewers and from the engine. */
export function ErrorTypes({ counts, typeNames, paths }: ErrorTypesProps) {
  const { steps, rows, most, heatOf } = useMemo(() => errorTypeTable(counts), [counts])
  return (
    <Section
      title="Error types by step"
      description={
        <>
          <IconUser size={12} aria-hidden /> set by reviewers, <IconCpu size={12} aria-hidden /> found by the
          attribution engine. Types are sorted by reviewers' counts. Select a count to see its decisions or traces.
        </>
      }
    >
      {rows.length === 0 ? (
        <Text size="sm">
          No error types in this period. Reviewers can choose one when they correct an output. Attribution finds one for
          traces with feedback.
        </Text>
      ) : (
        <ScrolledTable label="Counts of error types by step">
          <Table verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th className={classes.type}>Error type</Table.Th>
                {steps.map(stepId => (
                  <Table.Th key={stepId ?? ''} className={classes.step} scope="col">
                    <Text inherit span lineClamp={3} {...(stepId !== null && { title: stepId })}>
                      {stepId === null ? 'No step' : <ShownText text={stepId} />}
                    </Text>
                  </Table.Th>
                ))}
                <Table.Th className={classes.number}>All</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(({ errorType, cells, ...total }) => (
                <Table.Tr key={errorType}>
                  <Table.Th className={classes.type} scope="row" dir="auto">
                    <ShownText text={typeNames.get(errorType) ?? errorType} />
                  </Table.Th>
                  {steps.map(stepId => (
                    <Cell
                      key={stepId ?? ''}
                      named={cells.get(stepId)}
                      most={most}
                      heatOf={heatOf}
                      decisions={paths.decisions({ errorType, stepId })}
                      traces={paths.answers(errorType, stepId)}
                    />
                  ))}
                  <Cell
                    named={total}
                    most={0}
                    heatOf={heatOf}
                    decisions={paths.decisions({ errorType })}
                    traces={paths.answers(errorType)}
                  />
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrolledTable>
      )}
    </Section>
  )
}

interface CellProps {
  named: Named | undefined
  most: number
  heatOf: keyof Named
  /** The paths to the reviewers' decisions, and to the traces that the engine examined. */
  decisions: string
  traces: string
}

function Cell({ named, most, heatOf, decisions, traces }: CellProps) {
  if (!named) {
    return (
      <Table.Td className={`${classes.number} ${classes.none}`}>
        <span aria-hidden>·</span>
      </Table.Td>
    )
  }
  const heat = most === 0 ? 0 : Math.round((MAX_HEAT * named[heatOf]) / most)
  return (
    <Table.Td className={classes.heat} style={{ '--heat': heat } as CSSProperties}>
      {named.review > 0 && (
        <Link href={decisions} className={classes.by}>
          <IconUser size={12} aria-hidden />
          {count(named.review)}
          <VisuallyHidden> by reviewers</VisuallyHidden>
        </Link>
      )}
      {named.engine > 0 && (
        <Link href={traces} className={classes.by}>
          <IconCpu size={12} aria-hidden />
          {count(named.engine)}
          <VisuallyHidden> by the engine</VisuallyHidden>
        </Link>
      )}
    </Table.Td>
  )
}
