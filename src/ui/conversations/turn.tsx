import { Group, Stack, Text } from '@mantine/core'
import { lastQuestion } from '../../domain/preview.ts'
import { pathWith } from '../api/client.ts'
import type { TurnList } from '../api/wire.ts'
import { FeedbackCard } from '../feedback/feedback-card.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { counted } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { TextLink } from '../parts/text-link.tsx'
import classes from './conversation.module.css'
import { Message } from './message.tsx'

interface TurnProps {
  turn: TurnList['turns'][number]
  project: string | undefined
  /** The names of people who gave feedback, by ID. */
  names: ReadonlyMap<string, string>
}

/** A trace as a turn in a conversation: what was asked and answered, with feedback. */
export function Turn({ turn, project, names }: TurnProps) {
  const { id, name, status, createdAt, reviewState, staleCount, span, feedback, feedbackCount } = turn
  const address = pathWith(`/traces/${id}`, { project, span: span?.id })
  const more = feedbackCount - feedback.length
  return (
    <article className={classes.turn} aria-label={`Turn at ${createdAt}`}>
      <Group gap="4px 12px" fz="xs" c="dimmed">
        <TextLink href={address} fw={600}>
          <span dir="auto">
            <ShownText text={name} />
          </span>
        </TextLink>
        <Moment at={createdAt} />
        {status === 'running' && <span>Running</span>}
        <ReviewState state={reviewState} isStale={staleCount > 0} isCompact />
      </Group>
      {span ? (
        <>
          {span.input !== null && (
            <Message who="Input" value={lastQuestion(span.input) ?? span.input} className={classes.input} />
          )}
          {span.output === null ? (
            <Text size="sm" c="dimmed">
              No output
            </Text>
          ) : (
            <Message who="Output" value={span.output} className={classes.output} />
          )}
          {span.review.state === 'corrected' && (
            <Message who="Approved output" value={span.approvedOutput} className={classes.approved} />
          )}
        </>
      ) : (
        <Text size="sm" c="dimmed">
          No spans yet
        </Text>
      )}
      {feedback.length > 0 && (
        <Stack gap="xs">
          {feedback.map(each => (
            <FeedbackCard
              key={each.id}
              feedback={each}
              name={names.get(each.userId)}
              buttons={
                span &&
                each.spanId !== span.id &&
                each.spanId !== span.review.reviewedBy && (
                  <TextLink
                    href={pathWith(`/traces/${id}`, { project, span: each.spanId, section: 'feedback' })}
                    size="xs"
                  >
                    On another span
                  </TextLink>
                )
              }
            />
          ))}
        </Stack>
      )}
      {more > 0 && (
        <TextLink href={address} size="xs">
          {counted(more, 'more piece')} of feedback
        </TextLink>
      )}
    </article>
  )
}
