import { Group, Text, Title } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import type { ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { useMay } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { CompareSelect } from './compare-select.tsx'
import { EndExperiment } from './end-experiment.tsx'
import { StateMark } from './marks.tsx'
import { usePromptVersions } from './use-prompt-versions.ts'
import { VersionLink } from './version-link.tsx'

/** What an experiment tries, its state, and its actions. */
export function ReportHeader({ report }: { report: ExperimentReport }) {
  const { name, stepId, state, datasetId, promptVersionId, split, createdBy, createdAt } = report
  const project = useProject()
  const mayReview = useMay('review')
  const names = useNames([createdBy])
  const versions = usePromptVersions(project, [stepId])
  return (
    <Group justify="space-between" align="start" gap="xs">
      <div>
        <Group gap="xs">
          <Title order={1} dir="auto">
            <ShownText text={name ?? stepId} />
          </Title>
          <StateMark state={state} />
        </Group>
        <Text size="sm" c="dimmed">
          <VersionLink versionId={promptVersionId} versions={versions} isUnderlined /> on{' '}
          <TextLink href={pathWith(`/datasets/${datasetId}`, { project })} underline="always">
            <span dir="auto">
              <ShownText text={stepId} />
            </span>
          </TextLink>
          {split === null ? ', all splits' : `, ${split} split`}. Started <Moment at={createdAt} /> by{' '}
          <ShownText text={names.get(createdBy) ?? '…'} />.
        </Text>
      </div>
      <Group gap="xs">
        <CompareSelect report={report} />
        {mayReview && state === 'running' && (
          <>
            <EndExperiment report={report} how="cancel" />
            <EndExperiment report={report} how="finish" />
          </>
        )}
      </Group>
    </Group>
  )
}
