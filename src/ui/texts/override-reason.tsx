import { Textarea } from '@mantine/core'

interface OverrideReasonProps {
  value: string
  onChange: (reason: string) => void
  error: string | undefined
}

/** Why a person activates a version that doesn't meet the gate. */
export const OverrideReason = ({ value, onChange, error }: OverrideReasonProps) => (
  <Textarea
    label="Reason for overriding the gate"
    description="The audit log keeps your reason."
    required
    autosize
    minRows={2}
    maxLength={1_000}
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
    error={error}
  />
)
