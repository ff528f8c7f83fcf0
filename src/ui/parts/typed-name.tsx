import { Code, TextInput } from '@mantine/core'

interface TypedNameProps {
  name: string
  value: string
  onChange: (typed: string) => void
}

/** Confirms a deletion by asking for the name. */
export const TypedName = ({ name, value, onChange }: TypedNameProps) => (
  <TextInput
    label={
      <>
        Type <Code>{name}</Code> to confirm
      </>
    }
    autoComplete="off"
    spellCheck={false}
    data-autofocus
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
  />
)
