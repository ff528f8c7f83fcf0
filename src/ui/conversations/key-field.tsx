import { Autocomplete } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { DEFAULT_KEY } from './address.ts'
import { metadataPathsQuery } from './queries.ts'

interface KeyFieldProps {
  project: string | undefined
  chosen: string
  onChoose: (key: string) => void
}

/** Chooses the metadata field that groups traces. Suggests the fields in the newest traces. */
export function KeyField({ project, chosen, onChoose }: KeyFieldProps) {
  const [text, setText] = useState(chosen)
  const { data: paths = [] } = useQuery(metadataPathsQuery(project))
  const choose = (key: string) => {
    const next = key.trim() || DEFAULT_KEY
    setText(next)
    if (next !== chosen) onChoose(next)
  }
  return (
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        choose(text)
      }}
    >
      <Autocomplete
        size="xs"
        w={220}
        maw="100%"
        label="Group by metadata"
        data={[...new Set([DEFAULT_KEY, ...paths])]}
        value={text}
        onChange={setText}
        onOptionSubmit={choose}
        onBlur={() => choose(text)}
        maxLength={256}
      />
    </form>
  )
}
