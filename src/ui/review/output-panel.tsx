import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { SchemaFault } from '../../domain/output-schema.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { CodeDiff } from '../code/index.tsx'
import { JsonView } from '../json/json-view.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { useCitations } from '../sources/citations.ts'
import { DecisionWords } from './decision-words.tsx'
import { textOf } from './json-text.ts'
import { SchemaWarning } from './schema-warning.tsx'

interface OutputPanelProps {
  span: SpanOfTrace
  isWhole: boolean
  /** Where the output doesn't match its schema. */
  faults: readonly SchemaFault[]
}

/** The output under review, and any decision on it. */
export function OutputPanel({ span, isWhole, faults }: OutputPanelProps) {
  const { output, approvedOutput, review } = span
  const citations = useCitations(span.id)
  return (
    <Stack gap="xs">
      <Group justify="space-between" mih={28}>
        <Title order={2}>Output</Title>
        {review.state !== 'unreviewed' && <ReviewState state={review.state} isStale={review.stale} />}
      </Group>
      {review.state !== 'unreviewed' && (
        <Text size="sm" c="dimmed">
          <DecisionWords review={review} />
          {review.comment !== null && (
            <>
              : <ShownText text={review.comment} />
            </>
          )}
        </Text>
      )}
      {faults.length > 0 && <SchemaWarning faults={faults} />}
      {isWhole ? (
        <JsonView value={output} label="the output" maxHeight="calc(100dvh - 13rem)" links={citations} />
      ) : (
        <Skeleton h="24rem" />
      )}
      {isWhole && review.state === 'corrected' && (
        <section aria-label="Approved output">
          <Title order={3} mb={4}>
            Approved output
          </Title>
          <CodeDiff before={textOf(output)} after={textOf(approvedOutput)} label="Output and approved output" />
        </section>
      )}
    </Stack>
  )
}
