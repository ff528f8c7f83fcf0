import { Button, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useNames } from '../api/names.ts'
import type { Span } from '../api/wire.ts'
import { type Base, VoteCard } from '../feedback/vote-card.tsx'
import { KeyHint } from '../parts/key-hint.tsx'
import { handle, useKeys } from '../parts/use-keys.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { VOTE_KEYS } from './keys.ts'
import { approvedBy, votingWords } from './vote-words.ts'
import classes from './votes.module.css'

interface VotesProps {
  span: Pick<Span, 'output' | 'review' | 'reviewers' | 'votes' | 'isDisputed'>
  /** The level of the heading. */
  order: 2 | 3
  /** The actions that an adjudicator can take on votes. Null for everyone else. */
  choice: VoteChoice | null
}

export interface VoteChoice {
  isEnabled: boolean
  /** Decides in favor of a vote, by its position. */
  take: (index: number) => void
  /** Opens the editor with the value of a vote. */
  edit: (index: number) => void
  /** Moves the focus to the decision's reason or to its error type. */
  focus: (field: 'reason' | 'type') => void
}

/** The votes on an output, side by side. */
export function Votes({ span, order, choice }: VotesProps) {
  const { votes, output } = span
  /** What the votes are compared with: 0 is the output, and other numbers are votes, counted from 1. */
  const [compared, setCompared] = useState(0)
  const names = useNames(votes.map(({ by }) => by))
  const typeName = useErrorTypeNames()
  const nameOf = (index: number) => names.get(votes[index]?.by ?? '') ?? `vote ${index + 1}`
  const bases: Base[] = [
    { name: 'the output', value: output },
    ...votes.map((vote, index) => ({ name: `${nameOf(index)}'s version`, value: approvedBy(vote, output) })),
  ]
  const isBase = (index: number) => compared === index + 1
  useKeys(VOTE_KEYS, {
    take: ({ key }) => choice !== null && Number(key) <= votes.length && handle(() => choice.take(Number(key) - 1)),
    compare: () => choice !== null && handle(() => setCompared((compared + 1) % bases.length)),
    reason: () => choice !== null && handle(() => choice.focus('reason')),
    type: () => choice !== null && handle(() => choice.focus('type')),
  })
  return (
    <Stack gap="xs" mt={order === 2 ? 'md' : 0} component="section" aria-label="Votes">
      <Group justify="space-between" gap="xs">
        <Title order={order}>Votes</Title>
        <Group gap="xs">
          <Text size="xs" c="dimmed" aria-hidden>
            Compare with {choice && <KeyHint keys={['D']} />}
          </Text>
          <SegmentedControl
            size="xs"
            aria-label="Compare with"
            value={String(compared)}
            onChange={value => setCompared(Number(value))}
            data={bases.map((_, index) => ({
              value: String(index),
              label: index === 0 ? 'Output' : `Vote ${index}`,
            }))}
          />
        </Group>
      </Group>
      {choice && (
        <Text size="sm" c="dimmed">
          {votingWords(span)}
        </Text>
      )}
      <div className={classes.votes}>
        {votes.map((vote, index) => (
          <VoteCard
            key={vote.by}
            vote={vote}
            name={names.get(vote.by)}
            errorType={vote.errorType === null ? null : typeName(vote.errorType)}
            value={approvedBy(vote, output)}
            base={isBase(index) ? null : (bases[compared] ?? null)}
            mark={choice ? <KeyHint keys={[String(index + 1)]} /> : <span>{index + 1}.</span>}
          >
            {choice && (
              <Group gap="xs">
                <Button
                  size="compact-xs"
                  aria-label={`Use this vote: ${nameOf(index)}`}
                  disabled={!choice.isEnabled}
                  onClick={() => choice.take(index)}
                >
                  Use this vote
                </Button>
                <Button
                  size="compact-xs"
                  variant="default"
                  aria-label={`Edit this version: ${nameOf(index)}`}
                  disabled={!choice.isEnabled}
                  onClick={() => choice.edit(index)}
                >
                  Edit this version
                </Button>
              </Group>
            )}
          </VoteCard>
        ))}
      </div>
    </Stack>
  )
}
