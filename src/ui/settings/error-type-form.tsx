import { ActionIcon, Button, Select, Textarea, TextInput, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { IconPencil, IconPlus } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { type ErrorType, putErrorType, refreshErrorTypes } from './writes.ts'

interface ErrorTypeFormProps {
  projectId: string
  /** All that the project has. */
  errorTypes: readonly ErrorType[]
  /** The project's own one to change; undefined: a new one is added. */
  own?: ErrorType
}

type Draft = Pick<ErrorType, 'errorType' | 'name' | 'category' | 'rule' | 'isEnabled'>

const CATEGORIES = ['AI Error', 'User Error', 'Human Error'] as const satisfies readonly ErrorType['category'][]
const EMPTY: Draft = { errorType: '', name: '', category: 'AI Error', rule: '', isEnabled: true }

/** Gives a project an error type of its own, or changes one. */
export function ErrorTypeForm({ projectId, errorTypes, own }: ErrorTypeFormProps) {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState<Draft>(own ?? EMPTY)
  const { submit, isPending, error, reset } = useSubmission({
    send: ({ errorType, name, category, rule, isEnabled }: Draft) =>
      putErrorType(projectId, errorType, { name, category, rule, isEnabled }),
    onDone: async ({ name }) => {
      await refreshErrorTypes()
      close()
      notifications.show({ message: `${name} is ${own ? 'changed' : 'added'}.` })
    },
  })
  const faults = fieldFaults(error, ['errorType', 'name', 'category', 'rule'])
  // The call would change the one that is there.
  const isTaken = !own && errorTypes.some(({ errorType }) => errorType === draft.errorType.trim())
  const begin = () => {
    setDraft(own ?? EMPTY)
    reset()
    open()
  }
  const change = (part: Partial<Draft>) => setDraft(current => ({ ...current, ...part }))
  const label = own ? `Change ${own.name}` : 'New error type'
  return (
    <>
      {own ? (
        <Tooltip label={label}>
          <ActionIcon variant="default" aria-label={label} onClick={begin}>
            <IconPencil size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      ) : (
        <Button size="xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={begin}>
          {label}
        </Button>
      )}
      <FormModal
        title={label}
        isOpen={isOpen}
        onClose={close}
        act={own ? 'Save' : 'Add error type'}
        onSubmit={() => submit({ ...draft, errorType: draft.errorType.trim(), name: draft.name.trim() })}
        isPending={isPending}
        error={isTaken ? null : faults.rest}
        isDisabled={isTaken}
      >
        <TextInput
          label="Name"
          required
          data-autofocus
          value={draft.name}
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
          error={faults.of('name')}
        />
        <TextInput
          label="Identifier"
          description="What the API calls it: lower-case words joined by _. It does not change later."
          placeholder="wrong_tone"
          required
          readOnly={own !== undefined}
          value={draft.errorType}
          onChange={({ currentTarget }) => change({ errorType: currentTarget.value })}
          error={isTaken ? 'There is an error type of this name' : faults.of('errorType')}
        />
        <Select
          label="Category"
          data={CATEGORIES}
          allowDeselect={false}
          value={draft.category}
          onChange={category => category !== null && change({ category })}
          error={faults.of('category')}
        />
        <Textarea
          label="When it is the cause"
          description="In a sentence or two: engines and reviewers decide by it."
          autosize
          minRows={3}
          maxRows={10}
          required
          value={draft.rule}
          onChange={({ currentTarget }) => change({ rule: currentTarget.value })}
          error={faults.of('rule')}
        />
      </FormModal>
    </>
  )
}
