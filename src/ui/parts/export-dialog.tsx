import { Select, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactNode, useState } from 'react'
import { fetchFile } from '../api/client.ts'
import { ExportButton } from './export-button.tsx'
import { FormModal } from './form-modal.tsx'
import { saveFile } from './save-file.ts'
import { useSubmission } from './use-submission.ts'

interface Choice<Format> {
  value: Format
  label: string
}

interface ExportDialogProps<Format> {
  title: string
  /** What the file contains, in the plural. */
  items: string
  /** The first one is the default. */
  formats: readonly [Choice<Format>, ...Choice<Format>[]]
  description?: string
  size?: string
  /** The path to the file that starts at a cursor. */
  pathOf: (format: Format, cursor: string | null) => string
  /** A file's name. `part` is '' if there's only one file. */
  nameOf: (format: Format, part: string) => string
  /** More choices. After a change, `restart` goes back to the first part. */
  children?: (format: Format, restart: () => void) => ReactNode
}

/** The next part to download. A part has up to 5,000 items. */
interface Part {
  number: number
  cursor: string | null
}

const FIRST: Part = { number: 1, cursor: null }

/** Downloads a file that may have several parts, one part per submission. */
export function ExportDialog<Format extends string>(props: ExportDialogProps<Format>) {
  const { title, items, formats, description, size = 'compact-sm', pathOf, nameOf, children } = props
  const [isOpen, { open, close }] = useDisclosure()
  const [format, setFormat] = useState(formats[0].value)
  const [part, setPart] = useState(FIRST)
  const { submit, isPending, error, reset } = useSubmission({
    send: ({ cursor }: Part) => fetchFile(pathOf(format, cursor)),
    onDone: ({ file, nextCursor }, { number }) => {
      saveFile(file, nameOf(format, number === 1 && nextCursor === null ? '' : `part-${number}`))
      if (nextCursor === null) close()
      setPart(nextCursor === null ? FIRST : { number: number + 1, cursor: nextCursor })
    },
  })
  const restart = () => {
    setPart(FIRST)
    reset()
  }
  const saved = part.number - 1
  return (
    <>
      <ExportButton
        size={size}
        onClick={() => {
          restart()
          open()
        }}
      />
      <FormModal
        title={title}
        isOpen={isOpen}
        onClose={close}
        act={saved === 0 ? 'Download' : `Download part ${part.number}`}
        onSubmit={() => submit(part)}
        isPending={isPending}
        error={error}
      >
        <Select
          label="Format"
          description={description}
          data={formats}
          allowDeselect={false}
          value={format}
          onChange={chosen => {
            if (chosen !== null) setFormat(chosen)
            restart()
          }}
        />
        {children?.(format, restart)}
        {saved > 0 && (
          <Text size="sm" role="status">
            {saved === 1 ? '1 part saved.' : `${saved} parts saved.`} There are more {items}.
          </Text>
        )}
      </FormModal>
    </>
  )
}
