import { Anchor, Group } from '@mantine/core'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import { AssignButton } from '../assignments/assign-button.tsx'
import type { QueueFilter } from './filters.ts'

interface QueueActionsProps {
  filter: QueueFilter
  projectSlug: string
}

/** Buttons to assign the spans that the filters match, and to see everyone's progress. */
export function QueueActions({ filter: { order: _, ...given }, projectSlug }: QueueActionsProps) {
  const filter = Object.fromEntries(Object.entries({ projectSlug, ...given }).filter(([, value]) => value !== ''))
  return (
    <Group gap="sm" wrap="nowrap">
      <AssignButton label="Assign…" title="Assign these outputs" spans={{ filter }} />
      <Anchor component={Link} href={pathWith('/review/progress', { project: projectSlug })} size="sm">
        Progress
      </Anchor>
    </Group>
  )
}
