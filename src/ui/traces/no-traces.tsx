import { Button, Code } from '@mantine/core'
import { Empty } from '../parts/empty.tsx'
import { useFirstTrace } from '../parts/first-trace.ts'

interface NoTracesProps {
  projectSlug: string
  isFiltered: boolean
  onClear: () => void
}

/** Where a list is empty: how to send the first trace, or how to see those that the filters hide. */
export function NoTraces({ projectSlug, isFiltered, onClear }: NoTracesProps) {
  const firstTrace = useFirstTrace(projectSlug)
  return isFiltered ? (
    <Empty title="No trace matches these filters">
      <p>Remove some filters, or clear them all.</p>
      <Button size="xs" variant="default" onClick={onClear}>
        Clear filters
      </Button>
    </Empty>
  ) : (
    <Empty title="No trace yet" curl={firstTrace}>
      Send one with an API key that has the scope <Code>ingest</Code>. It shows here within seconds.
    </Empty>
  )
}
