import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { type MetadataFilter, parseMetadataFilter } from './filters.ts'

/** Adds a metadata filter: type `customer.tier=gold` and press Enter. */
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
        title={isWrong ? 'Use path=value, such as customer.tier=gold' : undefined}
        aria-description="Type path=value, such as customer.tier=gold, and press Enter"
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setWrong(false)
        }}
      />
    </form>
  )
}
