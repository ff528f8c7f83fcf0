import { Button, Code } from '@mantine/core'
import { Empty } from '../parts/empty.tsx'
import { useFirstTrace } from '../parts/first-trace.ts'

interface NoTracesProps {
  projectSlug: string
  isFiltered: boolean
  onClear: () => void
}

/** An empty list: how to send the first trace, or how to clear the filters. */
export function NoTraces({ projectSlug, isFiltered, onClear }: NoTracesProps) {
  const firstTrace = useFirstTrace(projectSlug)
  return isFiltered ? (
    <Empty title="No traces match these filters">
      <p>Remove some filters, or clear them all.</p>
      <Button size="xs" variant="default" onClick={onClear}>
        Clear filters
      </Button>
    </Empty>
  ) : (
    <Empty title="No traces yet" curl={firstTrace}>
      Send one with an API key that has the <Code>ingest</Code> scope. It appears here within seconds.
    </Empty>
  )
}
