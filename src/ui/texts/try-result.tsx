import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { pathWith } from '../api/client.ts'
import { ItemValues } from '../experiments/item-values.tsx'
import { OutcomeMark } from '../experiments/marks.tsx'
import { itemsQuery, reportQuery } from '../experiments/queries.ts'
import { Running } from '../experiments/running.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'

/** An experiment on one item: its progress, and then the output next to the expected one. */
export function TryResult({ experimentId }: { experimentId: string }) {
  const project = useProject()
  const { data: report, error } = useQuery(reportQuery(experimentId))
  const isDone = report !== undefined && report.state !== 'running'
  const items = useInfiniteQuery({ ...itemsQuery(experimentId, [{}]), enabled: isDone })
  const item = items.data?.pages[0]?.items[0]
  const fault = error ?? items.error
  return (
    <Stack component="section" gap="sm" aria-label="Result">
      {fault && <FaultAlert error={fault} title="Couldn't load the result" />}
      {report && <Running report={report} />}
      {item && (
        <>
          <Group gap="xs" role="status">
            <OutcomeMark outcome={item.outcome} />
            {item.error !== null && (
              <Text size="sm">
                Error: <ShownText text={item.error} />
              </Text>
            )}
          </Group>
          <ItemValues item={item} />
        </>
      )}
      {report && (
        <Text size="sm">
          <TextLink href={pathWith(`/experiments/${experimentId}`, { project, items: 'all' })} underline="always">
            Open the report
          </TextLink>
        </Text>
      )}
    </Stack>
  )
}
