import { Code, TextInput } from '@mantine/core'

interface TypedNameProps {
  name: string
  value: string
  onChange: (typed: string) => void
}

/** Asks for the name of what is about to be deleted. */
export const TypedName = ({ name, value, onChange }: TypedNameProps) => (
  <TextInput
    label={
      <>
        Type <Code>{name}</Code> to delete it
      </>
    }
    autoComplete="off"
    spellCheck={false}
    data-autofocus
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
  />
)
