import { Select, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { pathWith } from '../api/client.ts'
import { ExportButton } from './export-button.tsx'
import { FormModal } from './form-modal.tsx'
import { useFileParts } from './use-file-parts.ts'

const FORMATS = [
  { value: 'jsonl', label: 'JSONL: everything that the list knows about each' },
  { value: 'csv', label: 'CSV: a row for each' },
] as const

interface ExportListProps {
  /** What the list has. */
  name: 'traces' | 'spans'
  project: string
  /** The list's filters, as an API query. */
  filters: string
}

/** Downloads a filtered list, a part at a time. */
export function ExportList({ name, project, filters }: ExportListProps) {
  const [isOpen, { open, close }] = useDisclosure()
  const [format, setFormat] = useState<(typeof FORMATS)[number]['value']>('jsonl')
  const { saved, act, download, restart, isPending, error } = useFileParts({
    pathOf: cursor => {
      const path = pathWith(`/api/${name}/export`, { projectSlug: project, format, cursor })
      return filters === '' ? path : `${path}&${filters}`
    },
    nameOf: part => `${[project, name, part].filter(Boolean).join('-')}.${format}`,
    onLast: close,
  })
  return (
    <>
      <ExportButton
        onClick={() => {
          restart()
          open()
        }}
      />
      <FormModal
        title={`Export ${name}`}
        isOpen={isOpen}
        onClose={close}
        act={act}
        onSubmit={download}
        isPending={isPending}
        error={error}
      >
        <Select
          label="Format"
          description={`All ${name} that match the filters, up to 5,000 in each file`}
          data={FORMATS}
          allowDeselect={false}
          value={format}
          onChange={chosen => {
            if (chosen !== null) setFormat(chosen)
            restart()
          }}
        />
        {saved > 0 && (
          <Text size="sm" role="status">
            {saved === 1 ? '1 part is saved.' : `${saved} parts are saved.`} There are more {name}.
          </Text>
        )}
      </FormModal>
    </>
  )
}
