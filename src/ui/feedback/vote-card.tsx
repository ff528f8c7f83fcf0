import { Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Json, Vote } from '../api/wire.ts'
import { diffText } from '../code/diff-text.ts'
import { CodeDiff } from '../code/index.tsx'
import { JsonView } from '../json/json-view.tsx'
import { Said } from '../json/said.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { isSameValue } from '../review/json-text.ts'
import classes from './feedback-card.module.css'

/** A value that votes are compared with. */
export interface Base {
  /** The value's name in a sentence, such as `the output`. */
  name: string
  value: Json
}

interface VoteCardProps {
  vote: Vote
  /** The reviewer's name; undefined until it's loaded. */
  name: string | undefined
  /** The error type's name. */
  errorType: string | null
  /** The value that the vote approves. */
  value: Json
  /** Null if the other votes are compared with this one. */
  base: Base | null
  /** Shown before the name. */
  mark?: ReactNode
  /** Shown below the vote. */
  children?: ReactNode
}

/** A vote: one of several reviewers' decisions on an output. */
export function VoteCard({ vote, name, errorType, value, base, mark, children }: VoteCardProps) {
  const { decision, comment, at } = vote
  return (
    <Stack gap={6} className={classes.card}>
      <Group gap="xs" fz="xs" c="dimmed">
        {mark}
        <Text span inherit fw={600} c="var(--text)" dir="auto" className={classes.said}>
          <ShownText text={name ?? '…'} />
        </Text>
        <span>{decision === 'accept' ? 'accepts it' : 'corrects it'}</span>
        <Moment at={at} />
      </Group>
      {errorType !== null && (
        <Text size="sm" className={classes.said}>
          Error type: <ShownText text={errorType} />
        </Text>
      )}
      {comment !== null && <Said text={comment} />}
      {base === null ? (
        <JsonView value={value} label="the vote's value" maxHeight="40vh" />
      ) : isSameValue(value, base.value) ? (
        <Text size="sm" c="dimmed">
          Same as {base.name}
        </Text>
      ) : (
        <CodeDiff
          before={diffText(base.value)}
          after={diffText(value)}
          label={`Changes from ${base.name} to what ${name ?? 'the reviewer'} approves`}
          language={typeof value === 'string' && typeof base.value === 'string' ? 'text' : 'json'}
        />
      )}
      {children}
    </Stack>
  )
}
