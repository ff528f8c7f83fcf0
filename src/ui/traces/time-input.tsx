import '@mantine/dates/styles.css'
import { DateTimePicker } from '@mantine/dates'
import dayjs from 'dayjs'

interface TimeInputProps {
  label: string
  /** ISO 8601, UTC. */
  value: string | null
  onChange: (time: string | null) => void
}

/** A time in the reader's time zone. */
export function TimeInput({ label, value, onChange }: TimeInputProps) {
  const time = dayjs(value)
  return (
    <DateTimePicker
      size="xs"
      label={label}
      placeholder="Any time"
      valueFormat="YYYY-MM-DD HH:mm"
      value={value !== null && time.isValid() ? time.format('YYYY-MM-DD HH:mm:ss') : null}
      onChange={chosen => onChange(chosen === null ? null : dayjs(chosen).toISOString())}
      defaultTimeValue="00:00"
      clearable
      clearButtonProps={{ 'aria-label': `Any time (${label.toLowerCase()})` }}
      popoverProps={{ position: 'bottom-start' }}
    />
  )
}
