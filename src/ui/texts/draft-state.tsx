import { Button, Group, Text } from '@mantine/core'

interface DraftStateProps {
  isChanged: boolean
  isKept: boolean
  onDiscard: () => void
}

/** Says whether what is typed would survive a reload, and throws it away where that is wanted. */
export function DraftState({ isChanged, isKept, onDiscard }: DraftStateProps) {
  if (!isChanged) return null
  return (
    <Group gap="xs">
      <Text size="xs" c="dimmed" role="status">
        {isKept ? 'Kept as a draft in this browser.' : 'This browser keeps no draft of it: do not close this page.'}
      </Text>
      <Button variant="subtle" color="gray" size="compact-xs" onClick={onDiscard}>
        Discard
      </Button>
    </Group>
  )
}
