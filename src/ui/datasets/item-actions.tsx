import { Autocomplete, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { call } from '../api/client.ts'
import type { Dataset, DatasetItem } from '../api/wire.ts'
import { IconArrowBackUp, IconBan } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'
import { useRefusal } from '../parts/scopes.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { refreshDataset } from './queries.ts'

interface ItemActionsProps {
  item: DatasetItem
  dataset: Dataset
  splits: readonly string[]
}

interface Change {
  excluded?: boolean
  split?: string
  note?: string
}

/** Excludes an item from experiments, includes it again, or moves it to another split. */
export function ItemActions({ item, dataset: { id }, splits }: ItemActionsProps) {
  const refusal = useRefusal('manage', 'exclude items or move them')
  const { submit, isPending, error } = useSubmission({
    send: (body: Change) => call(`/api/datasets/${id}/items/${item.id}`, { method: 'PATCH', body }),
    onDone: () => refreshDataset(id),
  })
  const [note, setNote] = useState(item.note ?? '')
  const [split, setSplit] = useState(item.split)
  const faults = fieldFaults(error, ['split', 'note'])
  if (refusal !== null) return refusal === undefined ? null : <Text size="sm">{refusal}</Text>
  const send = (change: Change) => (event: FormEvent) => {
    event.preventDefault()
    submit(change)
  }
  const Icon = item.excluded ? IconArrowBackUp : IconBan
  return (
    <Stack gap="xs" component="section" aria-label="Change this item">
      <form onSubmit={send({ excluded: !item.excluded, note: note.trim() })}>
        <Group gap="xs" align="end">
          <TextInput
            size="xs"
            flex="1 1 12rem"
            label="Note"
            placeholder={item.excluded ? '' : 'Why should experiments exclude this item?'}
            value={note}
            onChange={({ currentTarget }) => setNote(currentTarget.value)}
            error={faults.of('note')}
          />
          <Button
            type="submit"
            size="xs"
            variant="default"
            leftSection={<Icon size={14} aria-hidden />}
            loading={isPending}
          >
            {item.excluded ? 'Include again' : 'Exclude from experiments'}
          </Button>
        </Group>
      </form>
      <form onSubmit={send({ split: split.trim() })}>
        <Group gap="xs" align="end">
          <Autocomplete
            size="xs"
            flex="1 1 12rem"
            label="Split"
            data={[...splits]}
            value={split}
            onChange={setSplit}
            error={faults.of('split')}
          />
          <Button type="submit" size="xs" variant="default" disabled={split.trim() === item.split} loading={isPending}>
            Move to this split
          </Button>
        </Group>
      </form>
      {faults.rest && <FaultAlert error={faults.rest} title="Couldn't save" />}
    </Stack>
  )
}
