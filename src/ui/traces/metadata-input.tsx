import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { type MetadataFilter, parseMetadataFilter } from './filters.ts'

/** Takes a filter by metadata as it is typed: `customer.tier=gold` and Enter. */
export function MetadataInput({ onAdd }: { onAdd: (filter: MetadataFilter) => void }) {
  const [text, setText] = useState('')
  const [isWrong, setWrong] = useState(false)
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        const filter = parseMetadataFilter(text)
        setWrong(!filter && text.trim() !== '')
        if (!filter) return
        onAdd(filter)
        setText('')
      }}
    >
      <TextInput
        size="xs"
        label="Metadata"
        placeholder="path=value ⏎"
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        error={isWrong}
        title={isWrong ? 'Write it as path=value, such as customer.tier=gold' : undefined}
        aria-description="As path=value, such as customer.tier=gold; Enter adds it"
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setWrong(false)
        }}
      />
    </form>
  )
}
