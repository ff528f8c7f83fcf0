import { Badge, Group } from '@mantine/core'

/** Words from the API, such as scopes or event types. */
export const WordBadges = ({ words }: { words: readonly string[] }) => (
  <Group gap={4}>
    {words.map(word => (
      <Badge key={word} variant="default" size="sm" tt="none" fw={400}>
        {word}
      </Badge>
    ))}
  </Group>
)
