import { Button, Group, Text } from '@mantine/core'

interface DraftStateProps {
  isChanged: boolean
  isKept: boolean
  onDiscard: () => void
}

/** Shows whether the draft is saved, with a button to discard it. */
export function DraftState({ isChanged, isKept, onDiscard }: DraftStateProps) {
  if (!isChanged) return null
  return (
    <Group gap="xs">
      <Text size="xs" c="dimmed" role="status">
        {isKept
          ? 'Draft saved in this browser.'
          : "This browser can't save drafts. If you close this page, you'll lose your changes."}
      </Text>
      <Button variant="subtle" color="gray" size="compact-xs" onClick={onDiscard}>
        Discard draft
      </Button>
    </Group>
  )
}
