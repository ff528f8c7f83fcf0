import { Stack, Text, Title } from '@mantine/core'
import type { PropsWithChildren } from 'react'
import { CopiedCode } from './copied-code.tsx'

interface EmptyProps {
  title: string
  /** A command that adds the first item. */
  curl?: string
}

/** An empty state: why there is nothing, and what to do next. */
export const Empty = ({ title, curl, children }: PropsWithChildren<EmptyProps>) => (
  <Stack gap="sm" maw={720} py="xl" mx="auto">
    <Title order={2}>{title}</Title>
    {children && (
      <Text size="sm" c="dimmed" component="div">
        {children}
      </Text>
    )}
    {curl && <CopiedCode text={curl} label="Copy command" />}
  </Stack>
)
