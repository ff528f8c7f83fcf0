import { Anchor, Button, Code, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { Moment } from '../parts/moment.tsx'
import { useRefusal } from '../parts/scopes.tsx'
import { useProject } from '../session/project.ts'
import { COUNTS, CountLink } from './count-link.tsx'
import { EvaluatorForm } from './evaluator-form.tsx'
import { evaluatorWords } from './evaluator-words.ts'
import { ExportDataset } from './export-dataset.tsx'
import { ImportExamples } from './import-examples.tsx'

interface DatasetHeaderProps {
  /** Undefined while loading. */
  dataset: Dataset | undefined
  /** The version of the items in the list. */
  version: string | undefined
  /** The splits to choose from. */
  splits: readonly string[]
}

/** A dataset's step, counts, evaluator, and actions. */
export function DatasetHeader({ dataset, version, splits }: DatasetHeaderProps) {
  const project = useProject()
  return (
    <Stack gap={6}>
      <Anchor component={Link} href={pathWith('/datasets', { project })} size="sm" style={{ alignSelf: 'start' }}>
        Datasets
      </Anchor>
      <Group justify="space-between" align="start" gap="xs">
        <Title order={1} dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {dataset ? <ShownText text={dataset.stepId} /> : 'Dataset'}
        </Title>
        {dataset && <Actions dataset={dataset} splits={splits} project={project} />}
      </Group>
      {dataset ? (
        <Group gap="4px 14px" fz="sm">
          {COUNTS.map(of => (
            <CountLink key={of.field} of={of} dataset={dataset} project={project} isLabeled />
          ))}
          <span>Evaluator: {evaluatorWords(dataset.evaluator)}</span>
          <Text span inherit c="dimmed">
            Updated <Moment at={dataset.updatedAt} />
          </Text>
          {version !== undefined && (
            <Group component="span" gap={2} wrap="nowrap">
              Version <Code>{version}</Code>
              <CopyIcon text={version} label="Copy version" />
            </Group>
          )}
        </Group>
      ) : (
        <Skeleton h={22} maw={560} />
      )}
    </Stack>
  )
}

interface ActionsProps {
  dataset: Dataset
  splits: readonly string[]
  project: string | undefined
}

/** The actions that the user may take on a dataset, and why they may not take others. */
function Actions({ dataset, splits, project }: ActionsProps) {
  const refusals = [
    useRefusal('review', 'start experiments or import examples'),
    useRefusal('manage', 'change the evaluator'),
  ]
  const [cannotReview, cannotManage] = refusals
  return (
    <Stack gap={4}>
      <Group gap="xs">
        {cannotReview === null && (
          <Button
            component={Link}
            href={pathWith('/experiments/new', { dataset: dataset.id, project })}
            size="xs"
            disabled={dataset.items === 0}
          >
            Start an experiment
          </Button>
        )}
        {cannotManage === null && <EvaluatorForm dataset={dataset} />}
        {cannotReview === null && <ImportExamples dataset={dataset} />}
        <ExportDataset dataset={dataset} splits={splits} />
      </Group>
      {refusals.map(
        refusal =>
          refusal && (
            <Text key={refusal} size="xs" c="dimmed">
              {refusal}
            </Text>
          ),
      )}
    </Stack>
  )
}
