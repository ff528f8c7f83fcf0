import { Text } from '@mantine/core'

const SHOWN = 3

/** What a search didn't cover. */
export function SearchNotes({ pages }: { pages: readonly { warnings?: string[] | undefined }[] | undefined }) {
  const warnings = [...new Set(pages?.flatMap(page => page.warnings ?? []))]
  if (warnings.length === 0) return null
  return (
    <Text size="xs" c="dimmed" role="status">
      {warnings.slice(0, SHOWN).join('. ')}.{warnings.length > SHOWN && ' There are more warnings.'}
    </Text>
  )
}
