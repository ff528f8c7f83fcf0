import { Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Json, Suggestion } from '../api/wire.ts'
import { CodeDiff } from '../code/index.tsx'
import { JsonView } from '../json/json-view.tsx'
import { Said } from '../json/said.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import classes from './feedback-card.module.css'

const WORDS = { accept: 'suggests accepting', correct: 'suggests a correction', reset: 'suggests undoing the review' }

interface SuggestionCardProps {
  suggestion: Suggestion
  /** The agent's name; undefined until it's loaded. */
  name: string | undefined
  /** The error type's name. */
  errorType: string | null
  /** The output, for showing a correction as a diff. If it's missing, the card shows the corrected value. */
  output?: Json
  /** The button that uses the suggestion. */
  button: ReactNode
}

/** A decision that an agent suggests. */
export function SuggestionCard({ suggestion, name, errorType, output, button }: SuggestionCardProps) {
  const { decision, approvedOutput, comment, at } = suggestion
  return (
    <Stack gap={6} className={classes.card}>
      <Group justify="space-between" gap="xs" align="start">
        <Group gap="xs" fz="xs" c="dimmed">
          <Text span inherit fw={600} c="var(--text)" dir="auto" className={classes.said}>
            <ShownText text={name ?? '…'} />
          </Text>
          <span>{WORDS[decision]}</span>
          <Moment at={at} />
        </Group>
        {button}
      </Group>
      {errorType !== null && (
        <Text size="sm" className={classes.said}>
          Error type: <ShownText text={errorType} />
        </Text>
      )}
      {comment !== null && <Said text={comment} />}
      {decision === 'correct' &&
        (output === undefined ? (
          <JsonView value={approvedOutput} label="suggested output" maxHeight="240px" />
        ) : (
          <CodeDiff before={textOf(output)} after={textOf(approvedOutput)} label="Output and suggested output" />
        ))}
    </Stack>
  )
}

const textOf = (value: Json): string => JSON.stringify(value, undefined, 2)
