import { Button, Select, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { IconDownload } from '../icons/index.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useFileParts } from '../parts/use-file-parts.ts'

const FORMATS = [
  { value: 'jsonl', label: 'JSONL: everything about each item', extension: 'jsonl' },
  { value: 'csv', label: 'CSV: a row for each item', extension: 'csv' },
  { value: 'chat', label: 'Chat messages, for fine-tuning', extension: 'chat.jsonl' },
] as const

/** Downloads a dataset, a part at a time. */
export function ExportDialog({ dataset: { id, stepId }, splits }: { dataset: Dataset; splits: readonly string[] }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [format, setFormat] = useState<(typeof FORMATS)[number]['value']>('jsonl')
  const [chosenSplit, setSplit] = useState('')
  const split = format === 'chat' ? 'train' : chosenSplit
  const [address] = useSearchParams()
  const version = address.get('version')
  const { saved, act, download, restart, isPending, error } = useFileParts({
    pathOf: cursor => pathWith(`/api/datasets/${id}/export`, { format, split, version, cursor }),
    nameOf: part => {
      const extension = FORMATS.find(({ value }) => value === format)?.extension
      return `${[stepId, split, part].filter(Boolean).join('-')}.${extension}`
    },
    onLast: close,
  })
  const begin = () => {
    restart()
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
        act={act}
        onSubmit={download}
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
            restart()
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
            restart()
          }}
        />
        {saved > 0 && <Text size="sm">The export has more than one part. Download the next one.</Text>}
      </FormModal>
    </>
  )
}
