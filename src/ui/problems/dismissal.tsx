import { Button, Text, Textarea } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { MAX_NOTE_LENGTH } from '../../limits.ts'
import type { Problem } from '../api/wire.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { useMay } from '../parts/scopes.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { changeProblem, offerUndo } from './writes.tsx'

interface DismissalProps {
  problem: Problem
}

/** Dismisses a problem that isn't worth fixing, or opens it again. */
export function Dismissal({ problem }: DismissalProps) {
  const mayReview = useMay('review')
  if (!mayReview) return null
  return problem.state === 'dismissed' ? <Reopen problem={problem} /> : <Dismiss problem={problem} />
}

function Reopen({ problem: { id, note } }: DismissalProps) {
  const { submit, isPending } = useSubmission({
    send: () => changeProblem(id, { dismissed: false, note: null }),
    onDone: () => offerUndo('Problem reopened.', () => changeProblem(id, { dismissed: true, note })),
    onFault: ({ message }) => notifications.show({ color: 'red', title: "Couldn't reopen the problem", message }),
  })
  return (
    <Button size="compact-sm" loading={isPending} onClick={() => submit(undefined)}>
      Reopen
    </Button>
  )
}

const Dismiss = ({ problem: { id, note } }: DismissalProps) => (
  <DialogForm
    trigger={open => (
      <Button size="compact-sm" variant="default" onClick={open}>
        Dismiss
      </Button>
    )}
    title="Dismiss this problem?"
    initial={{ note: note ?? '' }}
    fields={['note']}
    button={draft => ({ act: 'Dismiss', isDisabled: draft.note.trim() === '' })}
    send={draft => changeProblem(id, { dismissed: true, note: draft.note.trim() })}
    onDone={() => offerUndo('Problem dismissed.', () => changeProblem(id, { dismissed: false, note }))}
  >
    {(draft, change, faults) => (
      <>
        <Text size="sm">Its outputs still count in Insights. You can reopen the problem at any time.</Text>
        <Textarea
          label="Why it isn't worth fixing"
          required
          autosize
          minRows={2}
          maxLength={MAX_NOTE_LENGTH}
          data-autofocus
          value={draft.note}
          onChange={({ currentTarget }) => change({ note: currentTarget.value })}
          error={faults.of('note')}
        />
      </>
    )}
  </DialogForm>
)
