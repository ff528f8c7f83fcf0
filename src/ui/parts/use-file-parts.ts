import { useState } from 'react'
import { fetchFile } from '../api/client.ts'
import { saveFile } from './save-file.ts'
import { useSubmission } from './use-submission.ts'

/** The next part to download. A part has up to 5,000 items. */
interface Part {
  number: number
  cursor: string | null
}

const FIRST: Part = { number: 1, cursor: null }

interface FileParts {
  /** The path of the file that begins at a cursor. */
  pathOf: (cursor: string | null) => string
  /** A part's name. `part` is '' if it's the whole file. */
  nameOf: (part: string) => string
  /** Called after the last part. */
  onLast: () => void
}

/** Downloads a file that may have several parts. Each call of `download` saves the next one. */
export function useFileParts({ pathOf, nameOf, onLast }: FileParts) {
  const [part, setPart] = useState(FIRST)
  const { submit, isPending, error, reset } = useSubmission({
    send: ({ cursor }: Part) => fetchFile(pathOf(cursor)),
    onDone: ({ file, nextCursor }, { number }) => {
      saveFile(file, nameOf(number === 1 && nextCursor === null ? '' : `part-${number}`))
      if (nextCursor === null) onLast()
      setPart(nextCursor === null ? FIRST : { number: number + 1, cursor: nextCursor })
    },
  })
  const restart = () => {
    setPart(FIRST)
    reset()
  }
  const act = part.number === 1 ? 'Download' : `Download part ${part.number}`
  return { saved: part.number - 1, act, download: () => submit(part), restart, isPending, error }
}
