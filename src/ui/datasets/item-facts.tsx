import { Group, Stack, Text } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import type { Dataset, DatasetItem } from '../api/wire.ts'
import { Said } from '../json/said.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { PromptLink } from '../trace/prompt-link.tsx'
import { ItemDecision } from './item-decision.tsx'
import { ItemMarks } from './item-marks.tsx'

interface ItemFactsProps {
  item: DatasetItem
  dataset: Dataset
  typeNames: ReadonlyMap<string, string>
  userNames: ReadonlyMap<string, string>
}

/** Where an item comes from: its review, span, and prompt version. */
export function ItemFacts({ item, dataset: { stepId }, typeNames, userNames }: ItemFactsProps) {
  const project = useProject()
  const { traceId, spanId: span, promptVersionId, errorType, split, note } = item
  return (
    <Stack gap={6} fz="sm">
      <Group gap="xs" align="start" justify="space-between">
        <div>
          <ItemDecision item={item} userNames={userNames} />
        </div>
        <Group gap="xs">
          <ItemMarks item={item} />
          <span>Split: {split}</span>
        </Group>
      </Group>
      {errorType !== null && (
        <Text inherit>
          Error type: <ShownText text={typeNames.get(errorType) ?? errorType} />
        </Text>
      )}
      {note !== null && note !== '' && <Said text={`Note: ${note}`} />}
      {traceId !== null && (
        <Group gap="xs">
          <TextLink href={pathWith(`/traces/${traceId}`, { project, span })}>Open in its trace</TextLink>
          <TextLink href={pathWith('/review', { project, span })}>Open in Review</TextLink>
          {promptVersionId !== null && <PromptLink span={{ stepId }} versionId={promptVersionId} />}
        </Group>
      )}
    </Stack>
  )
}
