import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Problem } from '../api/wire.ts'

/** What people can change about a problem. */
export interface ProblemChange {
  dismissed?: boolean
  note?: string | null
  assigneeId?: string | null
  candidateVersionId?: string | null
}

/** Changes a problem. Resolves when the page shows the change. */
export async function changeProblem(id: string, change: ProblemChange): Promise<void> {
  await call<Problem>(`/api/problems/${encodeURIComponent(id)}`, { method: 'PATCH', body: change })
  await refreshProblems()
}

export async function refreshProblems(): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: ['problems'] })
  await queryClient.invalidateQueries({ queryKey: ['problem'] })
}

/** Says what was changed, with a button to undo the change. */
export function offerUndo(message: string, undo: () => Promise<void>): void {
  const id = crypto.randomUUID()
  const run = async () => {
    notifications.hide(id)
    try {
      await undo()
    } catch (error) {
      const { message } = error instanceof Error ? error : { message: String(error) }
      notifications.show({ color: 'red', title: "Couldn't undo the change", message })
    }
  }
  notifications.show({
    id,
    autoClose: 8_000,
    message: (
      <Group justify="space-between" gap="xs" wrap="nowrap">
        {message}
        <Button size="compact-xs" variant="default" onClick={run}>
          Undo
        </Button>
      </Group>
    ),
  })
}
