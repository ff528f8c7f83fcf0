import { Textarea } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'

interface GuidelineFormProps {
  /** The current guideline. */
  text: string
  save: (text: string) => Promise<void>
  onClose: () => void
}

const MAX_LENGTH = 16_384

/** Changes a step's guideline. */
export function GuidelineForm({ text, save, onClose }: GuidelineFormProps) {
  const [draft, setDraft] = useState(text)
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => save(draft),
    onSuccess: () => {
      notifications.show({ message: 'Guideline saved' })
      onClose()
    },
  })
  const faults = fieldFaults(error, ['text'])
  return (
    <FormModal
      title="Guideline for reviewers"
      isOpen
      onClose={onClose}
      act="Save"
      onSubmit={() => mutate()}
      isPending={isPending}
      error={faults.rest}
    >
      <Textarea
        label="How to judge this step's outputs"
        description="Markdown. Reviewers see it next to each of the step's outputs."
        autosize
        minRows={6}
        maxRows={20}
        maxLength={MAX_LENGTH}
        dir="auto"
        data-autofocus
        value={draft}
        error={faults.of('text')}
        onChange={({ currentTarget }) => setDraft(currentTarget.value)}
      />
    </FormModal>
  )
}
