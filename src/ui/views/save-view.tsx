import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { saveView, type ViewPage } from './queries.ts'

interface SaveViewProps {
  project: string
  page: ViewPage
  /** The current filters. */
  query: string
  /** The names of the user's views. Saving under one of these names replaces the view. */
  taken: readonly string[]
  onSaved: () => void
}

/** Saves the current filters as a view. */
export function SaveView({ project, page, query, taken, onSaved }: SaveViewProps) {
  const queryClient = useQueryClient()
  const [typed, setName] = useState('')
  const [shared, setShared] = useState(false)
  const { submit, isPending, error } = useSubmission({
    send: saveView,
    onDone: async () => {
      await queryClient.invalidateQueries({ queryKey: ['views'] })
      onSaved()
    },
  })
  if (query === '') {
    return (
      <Text size="xs" c="dimmed">
        To save a view, add a filter first.
      </Text>
    )
  }
  const name = typed.trim()
  const isTaken = taken.includes(name)
  const faults = fieldFaults(error, ['name'])
  const save = (event: FormEvent) => {
    event.preventDefault()
    if (name !== '') submit({ projectSlug: project, name, page, query, shared })
  }
  return (
    <form onSubmit={save}>
      <Stack gap={6}>
        <TextInput
          size="xs"
          label="Save the current filters as"
          placeholder="Name"
          value={typed}
          error={faults.of('name')}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Checkbox
          size="xs"
          label="Share with the project"
          checked={shared}
          onChange={({ currentTarget }) => setShared(currentTarget.checked)}
        />
        {faults.rest && <FaultAlert error={faults.rest} title="Couldn't save the view" />}
        <Button type="submit" size="compact-sm" loading={isPending} disabled={name === ''}>
          {isTaken ? 'Replace view' : 'Save view'}
        </Button>
      </Stack>
    </form>
  )
}
