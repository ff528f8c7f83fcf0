import { Stack, Text, Title } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { CodeDiff } from '../code/index.tsx'
import classes from './version-view.module.css'

interface TextDiffProps {
  label: string
  before: string
  after: string
  language: 'text' | 'json'
}

/** A titled diff, side by side if there is room. */
export function TextDiff({ label, ...diff }: TextDiffProps) {
  const isWide = useMediaQuery('(min-width: 75em)')
  return (
    <Stack gap={6} component="section" aria-label={label}>
      <Title order={3}>{label}</Title>
      {diff.before === diff.after ? (
        <Text size="sm" c="dimmed">
          No changes.
        </Text>
      ) : (
        <div className={classes.box}>
          <CodeDiff {...diff} label={label} layout={isWide ? 'split' : 'unified'} />
        </div>
      )}
    </Stack>
  )
}
