import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import type { Trace } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { listAddress } from '../traces/list-place.ts'
import { removeFromLists } from '../traces/queries.ts'
import { deleteTrace } from './queries.ts'

/** Confirms the deletion of a trace, then goes back to the list. */
export function DeleteTrace({ trace, onClose }: { trace: Trace; onClose: () => void }) {
  const [, navigate] = useLocation()
  const queryClient = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => deleteTrace(trace.id),
    onSuccess: () => {
      removeFromLists(new Set([trace.id]))
      notifications.show({ message: `Trace ${trace.traceId} deleted.` })
      navigate(listAddress())
      queryClient.removeQueries({ queryKey: ['trace', trace.id] })
    },
  })
  return (
    <Modal opened onClose={onClose} title="Delete trace?" centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="sm">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          This deletes <ShownText text={trace.name} />, including its spans ({count(trace.spanCount)}), reviews, and
          feedback ({count(trace.feedbackCount)}). You can't undo this.
        </Text>
        {error && <FaultAlert error={error} title="Couldn't delete the trace" />}
        <Group justify="end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color="red.9" loading={isPending} onClick={() => mutate()}>
            Delete
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
