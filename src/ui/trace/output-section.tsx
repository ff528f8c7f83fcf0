import { SegmentedControl, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { Json, Span } from '../api/wire.ts'
import { CodeDiff } from '../code/index.tsx'
import { JsonView } from '../json/json-view.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Decision } from './decision.tsx'
import { MarkedPlace } from './marked-place.tsx'
import { Suggestions } from './suggestions.tsx'
import { useWholeSpan } from './use-whole-span.ts'

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
  const { span, error, refetch } = useWholeSpan(shown, ['output', 'approvedOutput', 'suggestions'])
  const isCorrected = shown.review.state === 'corrected' || shown.review.stale
  const isMarked = marked !== undefined
  return (
    <Stack gap="sm">
      <Decision span={span ?? shown} traceId={traceId} />
      {error ? (
        <FaultAlert error={error} onRetry={refetch} />
      ) : !span ? (
        <Skeleton h={220} aria-label="Loading output" />
      ) : (
        <>
          {isCorrected && !isMarked && <Approved span={span} marked={markedApproved} />}
          {isCorrected && <Title order={3}>Output</Title>}
          {span.output === null ? (
            <Text c="dimmed">This span has no output, so there is nothing to review.</Text>
          ) : (
            <MarkedPlace marked={marked}>
              <JsonView value={span.output} label="output" marked={marked} maxHeight="max(50vh, 320px)" />
            </MarkedPlace>
          )}
          {isCorrected && isMarked && <Approved span={span} marked={markedApproved} />}
          <Suggestions span={span} />
        </>
      )}
    </Stack>
  )
}

function Approved({ span, marked }: { span: Span; marked: string | undefined }) {
  const [chosen, setMode] = useState<'changes' | 'value'>()
  const mode = chosen ?? (marked === undefined ? 'changes' : 'value')
  const isText = typeof span.output === 'string' && typeof span.approvedOutput === 'string'
  return (
    <Stack gap={6}>
      <Title order={3}>Approved output</Title>
      <SegmentedControl
        size="xs"
        aria-label="Approved output view"
        value={mode}
        onChange={value => setMode(value === 'value' ? 'value' : 'changes')}
        data={[
          { value: 'changes', label: 'Changes' },
          { value: 'value', label: 'Value' },
        ]}
        style={{ alignSelf: 'start' }}
      />
      {mode === 'changes' ? (
        <CodeDiff
          before={textOf(span.output)}
          after={textOf(span.approvedOutput)}
          label="Output and approved output"
          language={isText ? 'text' : 'json'}
        />
      ) : (
        <MarkedPlace marked={marked}>
          <JsonView value={span.approvedOutput} label="approved output" marked={marked} maxHeight="max(40vh, 280px)" />
        </MarkedPlace>
      )}
    </Stack>
  )
}

/** A value's text for the diff: strings as they are, others as JSON. */
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, undefined, 2))
