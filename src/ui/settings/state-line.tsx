import { Group, Text } from '@mantine/core'
import type { IconCheck } from '../icons/index.ts'

interface StateLineProps {
  label: string
  Icon: typeof IconCheck
  color: string
}

/** A state with its icon and color. */
export const StateLine = ({ label, Icon, color }: StateLineProps) => (
  <Group gap={4} wrap="nowrap" c={color}>
    <Icon size={14} aria-hidden />
    <Text size="sm" inherit>
      {label}
    </Text>
  </Group>
)
