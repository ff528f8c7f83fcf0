import { Button, Drawer, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { Json, Trace } from '../api/wire.ts'
import { IconDownload } from '../icons/index.ts'
import { JsonView } from '../json/json-view.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { wholeTraceQuery } from './queries.ts'

/** A whole trace as the API returns it, to read or download. */
export function RawTrace({ trace, onClose }: { trace: Trace; onClose: () => void }) {
  const { data, error, refetch } = useQuery(wholeTraceQuery(trace.id))
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title="Raw JSON"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {error ? (
        <FaultAlert error={error} onRetry={refetch} />
      ) : data ? (
        <Stack gap="sm">
          <Group justify="space-between">
            <Text size="xs" c="dimmed">
              GET /api/traces/{trace.id}
            </Text>
            <Download value={data} name={`${trace.traceId}.json`} />
          </Group>
          <JsonView value={data} label="the trace" maxHeight="calc(100dvh - 170px)" />
        </Stack>
      ) : (
        <Skeleton h="70vh" aria-label="Loading the trace" />
      )}
    </Drawer>
  )
}

function Download({ value, name }: { value: Json; name: string }) {
  const address = useMemo(
    () => URL.createObjectURL(new Blob([JSON.stringify(value, undefined, 2)], { type: 'application/json' })),
    [value],
  )
  useEffect(() => () => URL.revokeObjectURL(address), [address])
  return (
    <Button
      component="a"
      href={address}
      download={name}
      size="xs"
      variant="default"
      leftSection={<IconDownload size={14} aria-hidden />}
    >
      Download
    </Button>
  )
}
