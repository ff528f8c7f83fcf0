import { useMemo } from 'react'
import type { Insights } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count, counted, dollarColumn, dollars, duration, shortCount, usageDetails } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import classes from './insights.module.css'
import { UsageChart } from './lazy-charts.tsx'
import { ChartSection, ScrolledTable } from './section.tsx'
import { type BucketUse, rankedVersions, tokensIn, usageByBucket } from './use-by-bucket.ts'
import { type Bucket, bucketName } from './window.ts'

interface UsageProps {
  insights: Insights
  buckets: readonly Bucket[]
}

/** Tokens, cost, and durations: the cost by day, and all figures by step and prompt version. */
export function Usage({ insights, buckets }: UsageProps) {
  const byBucket = useMemo(() => usageByBucket(insights, buckets), [insights, buckets])
  const { usage, costUsd } = insights
  const sums = [costUsd !== null && dollars(costUsd), usage && counted(tokensIn(usage), 'token')]
  return (
    <ChartSection
      title="Cost and speed"
      description={`${sums.filter(Boolean).join(' and ')}${usage || costUsd !== null ? ' in total. ' : ''}${costUsd === null ? '' : "Calls with an unknown cost aren't included. "}Half of the runs finish within p50, and 95% within p95.`}
      chart={
        <div className={classes.usage}>
          <UsageChart
            label={`${costUsd === null ? 'Tokens' : 'Cost'} by day. Switch to the table for the numbers.`}
            uses={byBucket}
            field={costUsd === null ? 'tokens' : 'costUsd'}
            buckets={buckets}
          />
          <Versions insights={insights} />
        </div>
      }
      table={() => <DayTable uses={byBucket} buckets={buckets} />}
    />
  )
}

function Versions({ insights }: { insights: Insights }) {
  const numbers = new Map(insights.promptVersions.map(({ id, number }) => [id, number]))
  const versionName = (id: string | null) => (id === null ? '–' : numbers.has(id) ? `v${numbers.get(id)}` : 'deleted')
  const versions = rankedVersions(insights)
  const cost = dollarColumn(versions.map(({ costUsd }) => costUsd ?? 0))
  return (
    <ScrolledTable label="Cost and speed by step and prompt version">
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Step</Table.Th>
            <Table.Th>Version</Table.Th>
            <Table.Th className={classes.number}>Tokens</Table.Th>
            <Table.Th className={classes.number}>Cost</Table.Th>
            <Table.Th className={classes.number}>p50</Table.Th>
            <Table.Th className={classes.number}>p95</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {versions.map(({ stepId, promptVersionId, usage, costUsd, duration: took }) => (
            <Table.Tr key={`${stepId} ${promptVersionId}`}>
              <Table.Td className={classes.reviewer} dir="auto">
                <ShownText text={stepId} />
              </Table.Td>
              <Table.Td>{versionName(promptVersionId)}</Table.Td>
              <Table.Td className={classes.number} title={usage ? usageDetails(usage) : undefined}>
                {usage ? shortCount(tokensIn(usage)) : '–'}
              </Table.Td>
              <Table.Td className={classes.number}>{costUsd === null ? '–' : cost(costUsd)}</Table.Td>
              <Table.Td className={classes.number}>{duration(took?.p50Ms ?? null)}</Table.Td>
              <Table.Td className={classes.number}>{duration(took?.p95Ms ?? null)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrolledTable>
  )
}

function DayTable({ uses, buckets }: { uses: readonly BucketUse[]; buckets: readonly Bucket[] }) {
  const cost = dollarColumn(uses.map(({ costUsd }) => costUsd))
  return (
    <ScrolledTable label="Tokens and cost by day">
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Period</Table.Th>
            <Table.Th className={classes.number}>Tokens</Table.Th>
            <Table.Th className={classes.number}>Cost</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {[...buckets.entries()].toReversed().map(([index, bucket]) => (
            <Table.Tr key={bucket.from}>
              <Table.Td>{bucketName(bucket)}</Table.Td>
              <Table.Td className={classes.number}>{count(uses[index]?.tokens ?? 0)}</Table.Td>
              <Table.Td className={classes.number}>{cost(uses[index]?.costUsd ?? 0)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrolledTable>
  )
}
