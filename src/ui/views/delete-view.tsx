import { useQueryClient } from '@tanstack/react-query'
import type { SavedView } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { deleteView } from './queries.ts'

/** Confirms the deletion of a view. */
export function DeleteView({ view, onClose }: { view: SavedView; onClose: () => void }) {
  const queryClient = useQueryClient()
  const { submit, isPending, error } = useSubmission({
    send: deleteView,
    onDone: async () => {
      await queryClient.invalidateQueries({ queryKey: ['views'] })
      onClose()
    },
  })
  return (
    <FormModal
      title="Delete view?"
      isOpen
      onClose={onClose}
      act="Delete"
      isDestructive
      onSubmit={() => submit(view)}
      isPending={isPending}
      error={error}
    >
      <span style={{ overflowWrap: 'anywhere' }}>
        This deletes the view <ShownText text={view.name} />
        {view.shared ? ' for everyone in the project' : ''}. It doesn't delete anything that the view shows.
      </span>
    </FormModal>
  )
}
