import { Text } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import type { Experiments } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import type { Column } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { CHANGES, countWithName, type ItemFilter, OUTCOMES } from './filters.ts'
import { StateMark } from './marks.tsx'
import { intervalOf, passRate } from './pass-rate.ts'
import type { PromptVersions } from './use-prompt-versions.ts'
import { VersionLink } from './version-link.tsx'

type Listed = Experiments['experiments'][number]

/** The list's columns. */
export const columnsOf = (
  project: string,
  names: ReadonlyMap<string, string>,
  versions: PromptVersions,
): Column<Listed>[] => [
  {
    label: 'Experiment',
    cell: ({ id, name, stepId }) => (
      <TextLink href={pathWith(`/experiments/${id}`, { project })}>
        <span dir="auto">
          <ShownText text={name ?? stepId} />
        </span>
      </TextLink>
    ),
  },
  {
    label: 'State',
    cell: ({ state, items, pending }) => (
      <>
        <StateMark state={state} />
        {state !== 'finished' && (
          <Text size="xs" c="dimmed">
            {count(items - pending)} of {count(items)}
          </Text>
        )}
      </>
    ),
  },
  {
    label: 'Step',
    cell: ({ stepId }) => (
      <span dir="auto">
        <ShownText text={stepId} />
      </span>
    ),
  },
  {
    label: 'Version',
    isNarrow: true,
    cell: ({ promptVersionId }) => <VersionLink versionId={promptVersionId} versions={versions} />,
  },
  { label: 'Split', isNarrow: true, cell: ({ split }) => split ?? 'All' },
  countColumn(project, OUTCOMES.passed, { outcome: 'passed' }, ({ passed }) => passed),
  countColumn(project, OUTCOMES.failed, { outcome: 'failed' }, ({ failed }) => failed),
  countColumn(project, OUTCOMES.unjudged, { outcome: 'unjudged' }, ({ unjudged }) => unjudged),
  countColumn(project, OUTCOMES.error, { outcome: 'error' }, ({ error }) => error),
  countColumn(project, CHANGES.regressed, { change: 'regressed' }, ({ regressed }) => regressed),
  {
    label: 'Pass rate',
    isNarrow: true,
    cell: experiment => (
      <>
        {passRate(experiment)}
        <Text size="xs" c="dimmed">
          {intervalOf(experiment)}
        </Text>
      </>
    ),
  },
  {
    label: 'Started',
    cell: ({ createdAt, createdBy }) => (
      <>
        <Moment at={createdAt} />
        <Text size="xs" c="dimmed" dir="auto">
          <ShownText text={names.get(createdBy) ?? '…'} />
        </Text>
      </>
    ),
  },
]

/** A column of counts that link to the items. The counts are known once an experiment has ended. */
const countColumn = (
  project: string,
  label: string,
  filter: ItemFilter,
  pick: (counts: NonNullable<Listed['counts']>) => number,
): Column<Listed> => ({
  label,
  isNarrow: true,
  cell: ({ id, name, stepId, counts }) =>
    counts === null ? (
      '–'
    ) : (
      <Counted
        value={pick(counts)}
        path={pathWith(`/experiments/${id}`, { project, ...filter })}
        label={`${countWithName(pick(counts), label)} in ${name ?? stepId}`}
      />
    ),
})
