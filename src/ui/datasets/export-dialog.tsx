import { Button, Select, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { fetchFile, pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { IconDownload } from '../icons/index.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { saveFile } from './save-file.ts'

const FORMATS = [
  { value: 'jsonl', label: 'JSONL: everything about each item', extension: 'jsonl' },
  { value: 'csv', label: 'CSV: a row for each item', extension: 'csv' },
  { value: 'chat', label: 'Chat messages, for fine-tuning', extension: 'chat.jsonl' },
] as const

/** The next part to download. A part has up to 5,000 items of the same version. */
interface Part {
  number: number
  cursor: string | null
}

const FIRST: Part = { number: 1, cursor: null }

/** Downloads a dataset, a part at a time. */
export function ExportDialog({ dataset: { id, stepId }, splits }: { dataset: Dataset; splits: readonly string[] }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [format, setFormat] = useState<(typeof FORMATS)[number]['value']>('jsonl')
  const [chosenSplit, setSplit] = useState('')
  const split = format === 'chat' ? 'train' : chosenSplit
  const [part, setPart] = useState(FIRST)
  const [address] = useSearchParams()
  const version = address.get('version')
  const { submit, isPending, error, reset } = useSubmission({
    send: ({ cursor }: Part) => fetchFile(pathWith(`/api/datasets/${id}/export`, { format, split, version, cursor })),
    onDone: ({ file, nextCursor }, { number }) => {
      const extension = FORMATS.find(({ value }) => value === format)?.extension
      const isOnlyPart = number === 1 && nextCursor === null
      saveFile(file, `${[stepId, split, isOnlyPart ? '' : `part-${number}`].filter(Boolean).join('-')}.${extension}`)
      if (nextCursor === null) close()
      setPart(nextCursor === null ? FIRST : { number: number + 1, cursor: nextCursor })
    },
  })
  const begin = () => {
    setPart(FIRST)
    reset()
    open()
  }
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconDownload size={14} aria-hidden />} onClick={begin}>
        Export
      </Button>
      <FormModal
        title="Export"
        isOpen={isOpen}
        onClose={close}
        act={part.number === 1 ? 'Download' : `Download part ${part.number}`}
        onSubmit={() => submit(part)}
        isPending={isPending}
        error={error}
      >
        <Select
          label="Format"
          data={FORMATS}
          allowDeselect={false}
          value={format}
          onChange={chosen => {
            if (chosen !== null) setFormat(chosen)
            setPart(FIRST)
          }}
        />
        <Select
          label="Split"
          description={format === 'chat' && "A model must not learn from the items that it's tested on."}
          disabled={format === 'chat'}
          data={[{ value: '', label: 'All' }, ...splits]}
          allowDeselect={false}
          value={split}
          onChange={chosen => {
            setSplit(chosen ?? '')
            setPart(FIRST)
          }}
        />
        {part.number > 1 && <Text size="sm">The export has more than one part. Download the next one.</Text>}
      </FormModal>
    </>
  )
}
