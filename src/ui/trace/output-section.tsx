import { Skeleton, Stack, Text, Title } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { Span } from '../api/wire.ts'
import { JsonView } from '../json/json-view.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { useCitations } from '../sources/citations.ts'
import { ApprovedOutput } from './approved-output.tsx'
import { Decision } from './decision.tsx'
import { MarkedPlace } from './marked-place.tsx'
import { OutputSources } from './output-sources.tsx'
import { Suggestions } from './suggestions.tsx'
import { useWholeSpan } from './use-whole-span.ts'

const Votes = lazy(async () => ({ default: (await import('../review/votes.tsx')).Votes }))

interface OutputSectionProps {
  span: Span
  traceId: string
  /** The dotted path to mark in the output. */
  marked: string | undefined
  /** The dotted path to mark in the approved output. */
  markedApproved: string | undefined
}

/** A span's output, the decision on it, and the approved output. */
export function OutputSection({ span: shown, traceId, marked, markedApproved }: OutputSectionProps) {
  const { span, error, refetch } = useWholeSpan(shown, ['output', 'approvedOutput', 'suggestions', 'votes'])
  const isCorrected = shown.review.state === 'corrected' || shown.review.stale
  const isMarked = marked !== undefined
  const [areSourcesOpen, setSourcesOpen] = useState(false)
  const citations = useCitations(shown.id, areSourcesOpen)
  return (
    <Stack gap="sm">
      <Decision span={span ?? shown} traceId={traceId} />
      {error ? (
        <FaultAlert error={error} onRetry={refetch} />
      ) : !span ? (
        <Skeleton h={220} aria-label="Loading output" />
      ) : (
        <>
          {isCorrected && !isMarked && <ApprovedOutput {...span} marked={markedApproved} />}
          {isCorrected && <Title order={3}>Output</Title>}
          {span.output === null ? (
            <Text c="dimmed">This span has no output, so there is nothing to review.</Text>
          ) : (
            <MarkedPlace marked={marked}>
              <JsonView
                value={span.output}
                label="output"
                marked={marked}
                maxHeight="max(50vh, 320px)"
                links={citations}
              />
            </MarkedPlace>
          )}
          {isCorrected && isMarked && <ApprovedOutput {...span} marked={markedApproved} />}
          {span.votes.length > 0 && (
            <Suspense>
              <Votes span={span} order={3} choice={null} />
            </Suspense>
          )}
          <Suggestions span={span} />
          {span.output !== null && (
            <OutputSources
              span={{ id: span.id, traceId }}
              isOpen={areSourcesOpen}
              onToggle={() => setSourcesOpen(!areSourcesOpen)}
            />
          )}
        </>
      )}
    </Stack>
  )
}
