import { List, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { pathWith } from '../api/client.ts'
import type { ExperimentReport } from '../api/wire.ts'
import { counted, itemCount } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'

/** What limits how far an experiment's numbers can be trusted. */
export function Reach({ report }: { report: ExperimentReport }) {
  const { datasetId, split, versionsTried, repeatedInputs, removed, changedSince, sample, includeStale } = report
  const project = useProject()
  const dataset = pathWith(`/datasets/${datasetId}`, { project })
  const notes: ReactNode[] = [
    <>
      <TextLink href={pathWith('/experiments', { project, datasetId })} underline="always">
        {counted(versionsTried, 'version')} {versionsTried === 1 ? 'was' : 'were'} tried
      </TextLink>{' '}
      on {split === null ? 'all splits' : `the ${split} split`}. The more versions you try on the same items, the more
      likely it is that the best result is due to chance.
    </>,
    repeatedInputs > 0 &&
      `${itemCount(repeatedInputs)} in the test split ${repeatedInputs === 1 ? 'has an input that is' : 'have inputs that are'} also in the train split, where a prompt's examples come from.`,
    removed > 0 && `${itemCount(removed)} ${removed === 1 ? 'has' : 'have'} been deleted since the experiment began.`,
    changedSince && changedSince.excluded + changedSince.moved > 0 && (
      <>
        Since the experiment began, {itemCount(changedSince.excluded)} in the{' '}
        <TextLink href={dataset} underline="always">
          dataset
        </TextLink>{' '}
        {changedSince.excluded === 1 ? 'has' : 'have'} been excluded, and {itemCount(changedSince.moved)}{' '}
        {changedSince.moved === 1 ? 'has' : 'have'} moved to another split.
      </>
    ),
    changedSince === null &&
      "The step has since been renamed, so its dataset no longer contains the experiment's items. Only the counts remain.",
    sample !== null && `The experiment ran on a sample of ${itemCount(sample)}.`,
    includeStale && 'The experiment includes items whose output changed after the decision.',
  ].filter(Boolean)
  return (
    <Stack component="section" gap={4} aria-label="How much to trust this result">
      <Title order={2}>How much to trust this result</Title>
      <List size="sm" spacing={4} withPadding>
        {notes.map((note, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the notes never move
          <List.Item key={index}>{note}</List.Item>
        ))}
      </List>
    </Stack>
  )
}
