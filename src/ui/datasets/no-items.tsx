import { Button } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { Empty } from '../parts/empty.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { withoutItemFilters } from './filters.ts'

/** An empty list of items: how to get the first item, or how to clear the filters. */
export function NoItems({ dataset, isFiltered }: { dataset: Dataset | undefined; isFiltered: boolean }) {
  const [, change] = useSearchParams()
  const project = useProject()
  return isFiltered ? (
    <Empty title="No items match these filters">
      <Button size="xs" variant="default" onClick={() => change(withoutItemFilters)}>
        Clear filters
      </Button>
    </Empty>
  ) : (
    <Empty title="No items yet">
      Each output from this step that you{' '}
      <TextLink href={pathWith('/review', { project, stepId: dataset?.stepId })} underline="always">
        review
      </TextLink>{' '}
      becomes an item. You can also import examples.
    </Empty>
  )
}
