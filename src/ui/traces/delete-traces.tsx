import { Alert, Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { TraceItem } from '../api/wire.ts'
import { IconTrash } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FormModal } from '../parts/form-modal.tsx'
import { count, counted } from '../parts/format.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { deleteTraces, removeFromLists } from './queries.ts'

/** The most traces that one call deletes. */
const TRACES_PER_CALL = 200
/** The most traces to list by name if they couldn't be deleted. */
const NAMED_FAILURES = 10

const inWords = (traces: number): string => counted(traces, 'trace')

interface Failure {
  trace: TraceItem
  message: string
}

/** Deletes the selected traces after a confirmation. Traces that can't be deleted stay selected. */
export function DeleteTraces({ traces }: { traces: readonly TraceItem[] }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [progress, setProgress] = useState({ done: 0, total: 0 })
  const [failures, setFailures] = useState<readonly Failure[]>([])
  const { submit, isPending, error, reset } = useSubmission({
    send: async (chosen: readonly TraceItem[]) => {
      setFailures([])
      const failed: Failure[] = []
      for (let done = 0; done < chosen.length; done += TRACES_PER_CALL) {
        setProgress({ done, total: chosen.length })
        failed.push(...(await deleteSome(chosen.slice(done, done + TRACES_PER_CALL))))
      }
      return failed
    },
    onDone: (failed, chosen) => {
      setFailures(failed)
      const deleted = chosen.length - failed.length
      if (deleted > 0) notifications.show({ message: `${inWords(deleted)} deleted.` })
      if (failed.length === 0) close()
    },
  })
  const shown = isPending ? progress.total : traces.length
  return (
    <>
      {traces.length > 0 && (
        <Button
          size="compact-sm"
          color="red.9"
          leftSection={<IconTrash size={14} aria-hidden />}
          onClick={() => {
            reset()
            setFailures([])
            open()
          }}
        >
          Delete {inWords(traces.length)}
        </Button>
      )}
      <FormModal
        title={`Delete ${inWords(shown)}?`}
        isOpen={isOpen}
        onClose={close}
        act="Delete"
        isDestructive
        onSubmit={() => submit(traces)}
        isPending={isPending}
        error={error}
      >
        This deletes the selected traces, including their spans, reviews, and feedback. You can't undo this.
        {isPending && progress.total > TRACES_PER_CALL && (
          <span role="status">
            {count(progress.done)} of {count(progress.total)} deleted…
          </span>
        )}
        {failures.length > 0 && <Failures failures={failures} />}
      </FormModal>
    </>
  )
}

/** Deletes traces in one call and returns the failures. A trace that no longer exists counts as deleted. */
async function deleteSome(traces: readonly TraceItem[]): Promise<Failure[]> {
  const { results } = await deleteTraces(traces)
  const failures = traces.flatMap((trace, index) => {
    const { status, body } = results[index] ?? { status: 0, body: {} }
    if (status === 200 || status === 404) return []
    return [{ trace, message: typeof body.error === 'string' ? body.error : `status ${status}` }]
  })
  const failed = new Set(failures.map(({ trace }) => trace.id))
  removeFromLists(new Set(traces.map(({ id }) => id).filter(id => !failed.has(id))))
  return failures
}

const Failures = ({ failures }: { failures: readonly Failure[] }) => (
  <Alert color="red" role="alert" title={`Couldn't delete ${inWords(failures.length)}`}>
    {failures.slice(0, NAMED_FAILURES).map(({ trace, message }) => (
      <div key={trace.id}>
        <ShownText text={trace.traceId} />: {message}
      </div>
    ))}
    {failures.length > NAMED_FAILURES && <div>and {count(failures.length - NAMED_FAILURES)} more</div>}
  </Alert>
)
