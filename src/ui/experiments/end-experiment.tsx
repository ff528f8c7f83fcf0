import { Button, Text } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { itemCount } from '../parts/format.ts'
import { endExperiment } from './writes.ts'

const WORDS = {
  finish: {
    act: 'Finish',
    title: 'Finish this experiment?',
    variant: 'light',
    notice: 'The experiment has finished.',
  },
  cancel: {
    act: 'Cancel experiment',
    title: 'Cancel this experiment?',
    variant: 'default',
    notice: 'The experiment was canceled.',
  },
} as const

interface EndExperimentProps {
  report: ExperimentReport
  how: keyof typeof WORDS
}

/** Ends a running experiment before it has all its results. */
export function EndExperiment({ report: { id, pending }, how }: EndExperimentProps) {
  const { act, title, variant, notice } = WORDS[how]
  return (
    <DialogForm
      trigger={open => (
        <Button size="xs" variant={variant} onClick={open}>
          {act}
        </Button>
      )}
      title={title}
      initial={{}}
      button={() => ({ act })}
      send={() => endExperiment(id, how)}
      notice={() => notice}
    >
      {() => (
        <Text size="sm">
          {how === 'finish'
            ? `${itemCount(pending)} without a result will count as ${pending === 1 ? 'an error' : 'errors'}.`
            : `The experiment keeps its results but accepts no more. ${itemCount(pending)} won't get a result, and the experiment won't count toward a gate.`}
        </Text>
      )}
    </DialogForm>
  )
}
