import { Button, Code } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { sessionQuery } from '../api/session.ts'
import { curlOf } from '../parts/curl.ts'
import { Empty } from '../parts/empty.tsx'

/** Where a list is empty: how to send the first trace, or how to see those that the filters hide. */
export function NoTraces({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  return isFiltered ? (
    <Empty title="No trace matches these filters">
      <p>Take some of them away, or all:</p>
      <Button size="xs" variant="default" onClick={onClear}>
        Clear filters
      </Button>
    </Empty>
  ) : (
    <FirstTrace />
  )
}

function FirstTrace() {
  const { data: session } = useQuery(sessionQuery)
  const curl = useMemo(
    () =>
      curlOf('/api/v1/traces', {
        method: 'POST',
        body: {
          trace_id: `trace_${crypto.randomUUID().replaceAll('-', '').slice(0, 22)}`,
          name: 'hello',
          timestamp: new Date().toISOString(),
          status: 'completed',
          duration_ms: 120,
          metadata: { channel: 'curl' },
        },
      }),
    [],
  )
  return (
    <Empty title="No trace yet" curl={curl}>
      <p>
        Send one with an API key that has the scope <Code>ingest</Code>. It shows here within seconds.
      </p>
      {session?.project === null && (
        <p>
          A key for the whole organization must name the project, too: add{' '}
          <Code>-H 'x-project-slug: {'<project>'}'</Code>.
        </p>
      )}
    </Empty>
  )
}
