import { Stack, Text, Title } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { CodeDiff } from '../code/index.tsx'
import type { TextDraft } from './draft.ts'
import type { TextKind, Version } from './kinds.ts'
import { schemaText } from './schema-text.ts'
import classes from './version-view.module.css'

interface DraftChangesProps {
  kind: TextKind
  draft: TextDraft
  active: Version | undefined
}

/** A draft's changes to the active version. */
export function DraftChanges({ kind, draft, active }: DraftChangesProps) {
  const isWide = useMediaQuery('(min-width: 75em)')
  const parts = [
    { label: 'Content', language: 'text', before: active?.content ?? '', after: draft.content },
    ...(kind.hasSchema
      ? [
          {
            label: 'Output schema',
            language: 'json',
            before: schemaText(active?.outputSchema ?? null),
            after: draft.schema,
          } as const,
        ]
      : []),
  ] as const
  return parts.map(({ label, language, before, after }) => (
    <Stack key={label} gap={6} component="section" aria-label={label}>
      <Title order={3}>{label}</Title>
      {before === after ? (
        <Text size="sm" c="dimmed">
          No changes.
        </Text>
      ) : (
        <div className={classes.box}>
          <CodeDiff
            before={before}
            after={after}
            label={label}
            language={language}
            layout={isWide ? 'split' : 'unified'}
          />
        </div>
      )}
    </Stack>
  ))
}
