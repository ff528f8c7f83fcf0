import { Group, Text } from '@mantine/core'
import type { PropsWithChildren } from 'react'

/** A tab's description and actions. */
export const TabBar = ({ about, children }: PropsWithChildren<{ about: string }>) => (
  <Group justify="space-between" align="start" gap="sm">
    <Text size="sm" c="dimmed" maw={760} flex="1 1 16rem">
      {about}
    </Text>
    <Group gap="xs">{children}</Group>
  </Group>
)
