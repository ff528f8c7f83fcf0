import { Select } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { ExportDialog } from '../parts/export-dialog.tsx'

const FORMATS = [
  { value: 'jsonl', label: 'JSONL: everything about each item' },
  { value: 'csv', label: 'CSV: one row per item' },
  { value: 'chat', label: 'Chat messages, for fine-tuning' },
] as const

type Format = (typeof FORMATS)[number]['value']

/** Downloads a dataset. */
export function ExportDataset({ dataset: { id, stepId }, splits }: { dataset: Dataset; splits: readonly string[] }) {
  const [chosenSplit, setSplit] = useState('')
  const [address] = useSearchParams()
  const splitOf = (format: Format) => (format === 'chat' ? 'train' : chosenSplit)
  return (
    <ExportDialog
      title="Export"
      items="items"
      formats={FORMATS}
      size="xs"
      pathOf={(format, cursor) => {
        const query = { format, split: splitOf(format), version: address.get('version'), cursor }
        return pathWith(`/api/datasets/${id}/export`, query)
      }}
      nameOf={(format, part) => {
        const extension = format === 'chat' ? 'chat.jsonl' : format
        return `${[stepId, splitOf(format), part].filter(Boolean).join('-')}.${extension}`
      }}
    >
      {(format, restart) => (
        <Select
          label="Split"
          description={format === 'chat' && "Don't train a model on items that you use to test it."}
          disabled={format === 'chat'}
          data={[{ value: '', label: 'All' }, ...splits]}
          allowDeselect={false}
          value={splitOf(format)}
          onChange={chosen => {
            setSplit(chosen ?? '')
            restart()
          }}
        />
      )}
    </ExportDialog>
  )
}
