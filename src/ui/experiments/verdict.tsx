import { Stack, Text } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import type { Comparison, ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count, itemCount } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { Warning } from '../parts/warning.tsx'
import { useProject } from '../session/project.ts'
import { StateMark } from './marks.tsx'
import { intervalOf, passRate } from './pass-rate.ts'
import { usePromptVersions } from './use-prompt-versions.ts'
import { VersionLink } from './version-link.tsx'

interface VerdictProps {
  comparison: Comparison
  a: ExperimentReport
  b: ExperimentReport
}

/** How two experiments compare, in numbers and words. */
export function Verdict({ comparison, a, b }: VerdictProps) {
  const { counts, sameItems, sameEvaluator } = comparison
  const facts = [
    `${count(counts.bothPassed)} passed in both`,
    `${count(counts.onlyA)} only in A`,
    `${count(counts.onlyB)} only in B`,
    `${count(counts.neither)} in neither`,
    `${count(counts.unjudged)} unjudged in one or both`,
  ]
  return (
    <Stack gap="sm">
      <StackedTable label="Experiments" columns={useColumns(a)} rows={[a, b]} keyOf={({ id }) => id} />
      {!(sameItems && sameEvaluator) && (
        <Warning title="No significance test">
          {sameItems
            ? 'The experiments use different evaluators.'
            : "The experiments don't have the same items: the dataset's version, the split, or the sample differs."}{' '}
          The counts cover the items that have a result in both experiments.
        </Warning>
      )}
      <Text size="sm">{facts.join(' · ')}</Text>
      {comparison.mcNemar && (
        <Text size="sm" role="status">
          <b>{wordsOf(comparison.mcNemar)}</b>
        </Text>
      )}
    </Stack>
  )
}

const p = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 })

function wordsOf({ verdict, p: probability, discordant }: NonNullable<Comparison['mcNemar']>): string {
  const items = itemCount(discordant)
  if (discordant === 0) return 'Too few differences to tell: no items passed in only one of the two experiments.'
  if (probability === null) return `Too few differences to tell: ${items} passed in only one of the two experiments.`
  const test = `(${items} passed in only one of the two experiments, McNemar's test, p = ${p.format(probability)})`
  return verdict === 'different' ? `The difference is significant ${test}.` : `No significant difference ${test}.`
}

function useColumns(a: ExperimentReport): Column<ExperimentReport>[] {
  const project = useProject()
  const versions = usePromptVersions(project, [a.stepId])
  return [
    {
      label: 'Experiment',
      cell: report => (
        <>
          <b>{report === a ? 'A' : 'B'}</b>{' '}
          <TextLink href={pathWith(`/experiments/${report.id}`, { project })}>
            <span dir="auto">
              <ShownText text={report.name ?? report.stepId} />
            </span>
          </TextLink>
        </>
      ),
    },
    {
      label: 'Version',
      isNarrow: true,
      cell: ({ promptVersionId }) => <VersionLink versionId={promptVersionId} versions={versions} />,
    },
    { label: 'State', isNarrow: true, cell: ({ state }) => <StateMark state={state} /> },
    { label: 'Pass rate', cell: report => [passRate(report), intervalOf(report)].filter(Boolean).join(', ') },
    { label: 'Started', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ]
}
