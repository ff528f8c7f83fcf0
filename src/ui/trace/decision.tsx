import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { Fault, pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { sessionQuery } from '../api/session.ts'
import type { Span } from '../api/wire.ts'
import { IconArrowBackUp, IconCheck, IconPencil, IconUsers } from '../icons/index.ts'
import { Said } from '../json/said.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { counted } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { useMay } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { Warning } from '../parts/warning.tsx'
import { hasVoted, isVoting, votingWords } from '../review/vote-words.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { decide } from './queries.ts'
import classes from './span-panel.module.css'
import { useOthersClaim } from './use-others-claim.ts'

/** The decision on a span's output, with buttons to accept it or to undo the review. */
export function Decision({ span, traceId }: { span: Span; traceId: string }) {
  const project = useProject()
  const typeName = useErrorTypeNames()
  const mayReview = useMay('review')
  const { data: session } = useQuery(sessionQuery)
  const { mutate, isPending, error, variables, reset } = useMutation({
    mutationFn: (wanted: { decision: 'accept' | 'reset'; takeOver: boolean }) => decide(span, wanted, traceId),
  })
  const heldBy = error instanceof Fault ? error.heldBy : undefined
  const claim = useOthersClaim(span)
  const [takenFrom, setTakenFrom] = useState<string>()
  const names = useNames([span.review.by, claim?.heldBy, heldBy])
  if (span.output === null && span.review.state === 'unreviewed') return null
  const { state, by, at, stale, comment, errorType, reviewedBy } = span.review
  const isOwnVote = isVoting(span) && session != null && hasVoted(span, session.actorId)
  const voting = votingWords(span)
  const isByVotes = span.review.basis === 'votes' && span.votes.length > 0
  const choose = (decision: 'accept' | 'reset') => {
    reset()
    mutate({ decision, takeOver: claim !== null })
  }
  const isHeld = claim !== null && claim.heldBy !== takenFrom
  return (
    <Stack gap="xs" className={classes.card}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs" fz="xs" c="dimmed">
          <ReviewState state={state} isStale={stale} />
          {by !== null && <span>by {isByVotes ? counted(span.votes.length, 'reviewer') : (names.get(by) ?? '…')}</span>}
          {at !== null && <Moment at={at} />}
        </Group>
        {mayReview ? (
          <Group gap="xs">
            {(state !== 'unreviewed' || isOwnVote) && (
              <Button
                size="compact-sm"
                variant="subtle"
                leftSection={<IconArrowBackUp size={14} aria-hidden />}
                loading={isPending}
                disabled={isHeld}
                onClick={() => choose('reset')}
              >
                {isOwnVote ? 'Withdraw vote' : 'Undo review'}
              </Button>
            )}
            {span.output !== null && (
              <Button
                component={Link}
                href={pathWith('/review', { project, span: reviewedBy ?? span.id })}
                size="compact-sm"
                variant="default"
                leftSection={<IconPencil size={14} aria-hidden />}
              >
                Open in Review
              </Button>
            )}
            {span.output !== null && (state === 'unreviewed' || stale) && !isOwnVote && (
              <Button
                size="compact-sm"
                leftSection={<IconCheck size={14} aria-hidden />}
                loading={isPending}
                disabled={isHeld}
                onClick={() => choose('accept')}
              >
                Accept
              </Button>
            )}
          </Group>
        ) : (
          <Text size="xs" c="dimmed">
            You need the “review” scope to review outputs.
          </Text>
        )}
      </Group>
      {isHeld && heldBy === undefined && (
        <Held
          claim={claim}
          holder={names.get(claim.heldBy)}
          onTakeOver={mayReview ? () => setTakenFrom(claim.heldBy) : undefined}
        />
      )}
      {reviewedBy !== null && (
        <Text size="sm">
          <TextLink href={`/traces/${traceId}?span=${reviewedBy}`} underline="always">
            A step below
          </TextLink>{' '}
          has the same text as this span. A review of either span counts for both.
        </Text>
      )}
      {voting !== null && <Text size="sm">{voting}</Text>}
      {errorType !== null && <Text size="sm">Error type: {typeName(errorType)}</Text>}
      {/* Each vote shows its own comment. */}
      {comment !== null && !isByVotes && <Said text={comment} />}
      {error && (
        <DecisionFault
          error={error}
          holder={heldBy === undefined ? undefined : names.get(heldBy)}
          onTakeOver={() => variables && mutate({ ...variables, takeOver: true })}
        />
      )}
    </Stack>
  )
}

interface HeldProps {
  claim: NonNullable<Span['claim']>
  /** The reviewer's name, if it is known. */
  holder: string | undefined
  /** Undefined if the user lacks the scope. */
  onTakeOver: (() => void) | undefined
}

/** Shows who is reviewing the span. */
const Held = ({ claim, holder, onTakeOver }: HeldProps) => (
  <Warning icon={<IconUsers size={16} aria-hidden />}>
    <Group gap="xs" justify="space-between">
      <Text size="sm">
        {holder ?? 'Another reviewer'} is reviewing this. The claim ends at{' '}
        <Moment at={claim.until} precision="brief" />.
      </Text>
      {onTakeOver && (
        <Button size="compact-sm" variant="default" onClick={onTakeOver}>
          Take over
        </Button>
      )}
    </Group>
  </Warning>
)

interface DecisionFaultProps {
  error: Error
  /** The name of the reviewer who has claimed the span, if it is known. */
  holder: string | undefined
  onTakeOver: () => void
}

/** Why a decision wasn't saved. */
function DecisionFault({ error, holder, onTakeOver }: DecisionFaultProps) {
  if (error instanceof Fault && error.heldBy !== undefined) {
    return (
      <Warning isUrgent title="Another reviewer has this span" icon={<IconUsers size={16} aria-hidden />}>
        <Text size="sm" mb="xs">
          {holder ?? 'Another reviewer'} is reviewing it. Your decision wasn't saved.
        </Text>
        <Button size="xs" variant="default" onClick={onTakeOver}>
          Take over
        </Button>
      </Warning>
    )
  }
  if (error instanceof Fault && error.status === 412) {
    return (
      <Warning isUrgent title="This span has changed" icon={<IconUsers size={16} aria-hidden />}>
        Someone reviewed this span, or its output changed, after you opened it. Your decision wasn't saved. The page now
        shows the current version.
      </Warning>
    )
  }
  return <FaultAlert error={error} title="Couldn't save" />
}
