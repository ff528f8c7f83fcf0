import { Text, TextInput } from '@mantine/core'
import type { StepNames } from '../api/wire.ts'
import { IconArrowBackUp } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { AddTrigger, DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import { changeStepNames, refreshSteps } from './writes.ts'

/** Gives a step a new name. */
export function RenameStep({ projectId, names }: { projectId: string; names: StepNames }) {
  const isTaken = (oldName: string) => Object.hasOwn(names, oldName.trim())
  return (
    <DialogForm
      trigger={open => <AddTrigger label="Rename a step" onClick={open} />}
      title="Rename a step"
      initial={{ oldName: '', newName: '' }}
      fields={['names']}
      button={({ oldName }) => ({ act: 'Rename', isDisabled: isTaken(oldName) })}
      send={({ oldName, newName }) =>
        changeStepNames(projectId, current => ({ ...current, [oldName.trim()]: newName.trim() }))
      }
      onDone={refreshSteps}
      notice={() => 'Step renamed.'}
    >
      {({ oldName, newName }, change, faults) => {
        const ownFault = faults.of(`names.${oldName.trim()}`)
        return (
          <>
            <TextInput
              label="Old name"
              description="The step ID in the step's spans, exactly as pipelines send it."
              placeholder="generate-answer"
              required
              data-autofocus
              value={oldName}
              onChange={({ currentTarget }) => change({ oldName: currentTarget.value })}
              error={isTaken(oldName) ? 'This step already has a new name. Restore the old one first.' : ownFault}
            />
            <TextInput
              label="New name"
              description="If you enter another step's name, the two steps become one."
              required
              value={newName}
              onChange={({ currentTarget }) => change({ newName: currentTarget.value })}
              error={ownFault === undefined && faults.of('names')}
            />
          </>
        )
      }}
    </DialogForm>
  )
}

/** Gives a step its old name back. */
export function UndoRename({ projectId, oldName }: { projectId: string; oldName: string }) {
  const label = `Restore the name ${oldName}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconArrowBackUp} onClick={open} />}
      title="Restore the old name?"
      initial={{}}
      button={() => ({ act: 'Restore' })}
      send={() =>
        changeStepNames(projectId, current =>
          Object.fromEntries(Object.entries(current).filter(([name]) => name !== oldName)),
        )
      }
      onDone={refreshSteps}
      notice={() => 'The step has its old name again.'}
    >
      {() => (
        <Text size="sm">
          The step will be called <ShownText text={oldName} /> again in all spans, prompts, and insights.
        </Text>
      )}
    </DialogForm>
  )
}
