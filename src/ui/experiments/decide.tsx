import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useRef, useState } from 'react'
import type { ExperimentItem, ExperimentReport } from '../api/wire.ts'
import { IconCheck, IconX } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { KeyHint } from '../parts/key-hint.tsx'
import { Moment } from '../parts/moment.tsx'
import { handle } from '../parts/use-keys.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { useReportKeys } from './keys.ts'
import { reviewItem, type Verdict } from './writes.ts'

interface DecideProps {
  report: ExperimentReport
  item: ExperimentItem
  reviewer: string | null | undefined
  onDecided: () => void
}

/** Accepts or rejects a candidate's output. Each decision replaces the previous one. */
export function Decide({ report, item, reviewer, onDecided }: DecideProps) {
  const [comment, setComment] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const { submit, isPending, error, variables } = useSubmission({
    send: (decision: Verdict) => reviewItem(report.id, item.id, decision, comment.trim()),
    onDone: onDecided,
  })
  const may = {
    accept: item.outcome === 'failed' || item.outcome === 'unjudged',
    reject: item.outcome !== null && item.outcome !== 'error' && item.review?.decision !== 'reject',
  }
  const decide = (decision: Verdict) => may[decision] && handle(() => submit(decision))
  useReportKeys({
    accept: () => decide('accept'),
    reject: () => decide('reject'),
    comment: () => handle(() => field.current?.focus()),
    leave: ({ target }) => target === field.current && handle(() => field.current?.blur()),
  })
  if (!may.accept && !may.reject && item.review === null) return null
  return (
    <Stack gap="xs" component="section" aria-label="Decision">
      {item.review && <Decided review={item.review} reviewer={reviewer} />}
      <Group gap="xs" align="end">
        <Textarea
          ref={field}
          label="Comment"
          size="xs"
          flex="1 1 14rem"
          maw={480}
          autosize
          minRows={1}
          maxRows={6}
          maxLength={16_384}
          dir="auto"
          value={comment}
          onChange={({ currentTarget }) => setComment(currentTarget.value)}
        />
        <Button
          size="xs"
          disabled={!may.accept}
          loading={isPending && variables === 'accept'}
          leftSection={<IconCheck size={14} aria-hidden />}
          rightSection={<KeyHint keys={['A']} />}
          onClick={() => decide('accept')}
        >
          Accept
        </Button>
        <Button
          size="xs"
          variant="default"
          disabled={!may.reject}
          loading={isPending && variables === 'reject'}
          leftSection={<IconX size={14} aria-hidden />}
          rightSection={<KeyHint keys={['R']} />}
          onClick={() => decide('reject')}
        >
          Reject
        </Button>
      </Group>
      <Text size="xs" c="dimmed">
        If you accept the output, it counts as right in this experiment and in later ones. If you reject it, it counts
        as wrong in this experiment only. You can change your decision later.
      </Text>
      {error && <FaultAlert error={error} title="Couldn't save the decision" />}
    </Stack>
  )
}

/** The current decision. */
const Decided = ({
  review: { decision, at, comment },
  reviewer,
}: {
  review: NonNullable<ExperimentItem['review']>
  reviewer: string | null | undefined
}) => (
  <Text size="sm" role="status">
    <ShownText text={reviewer ?? 'Someone'} /> {decision === 'accept' ? 'accepted' : 'rejected'} this on{' '}
    <Moment at={at} />
    {comment !== null && (
      <>
        : <ShownText text={comment} />
      </>
    )}
  </Text>
)
