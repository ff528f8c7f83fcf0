import { Select } from '@mantine/core'

interface ExpectedSelectProps {
  count: number
  value: number
  onChange: (index: number) => void
}

/** Chooses between the approved output and the alternatives that people accepted. */
export const ExpectedSelect = ({ count, value, onChange }: ExpectedSelectProps) =>
  count > 1 && (
    <Select
      aria-label="Expected value"
      size="xs"
      w={140}
      allowDeselect={false}
      data={Array.from({ length: count }, (_, index) => ({
        value: String(index),
        label: index === 0 ? 'Approved' : `Alternative ${index}`,
      }))}
      value={String(value)}
      onChange={chosen => chosen !== null && onChange(Number(chosen))}
    />
  )
