import { Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Json } from '../api/wire.ts'
import { diffText } from '../code/diff-text.ts'
import { CodeDiff } from '../code/index.tsx'
import { JsonView } from '../json/json-view.tsx'
import { isSameValue } from '../review/json-text.ts'
import classes from './items.module.css'

interface ItemValueProps {
  title: string
  value: Json
  /** The expected value, to show what differs from it. */
  before?: Json
  control?: ReactNode
  maxHeight?: string
}

/** An item's value, either unchanged or as a diff from the expected value. */
export function ItemValue({ title, value, before, control, maxHeight = '24rem' }: ItemValueProps) {
  const isSame = before !== undefined && isSameValue(before, value)
  const isText = typeof before === 'string' && typeof value === 'string'
  return (
    <section aria-label={title} className={classes.value}>
      <Group justify="space-between" mih={26} mb={4} gap="xs">
        <Title order={2} size="h3">
          {title}
        </Title>
        {isSame && (
          <Text size="xs" c="dimmed">
            As expected
          </Text>
        )}
        {control}
      </Group>
      {before === undefined || isSame ? (
        <JsonView value={value} label={`the ${title.toLowerCase()} value`} maxHeight={maxHeight} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <div className={classes.diff} style={{ maxHeight }} tabIndex={0}>
          <CodeDiff
            before={diffText(before)}
            after={diffText(value)}
            label={`Expected and ${title.toLowerCase()}`}
            language={isText ? 'text' : 'json'}
          />
        </div>
      )}
    </section>
  )
}
