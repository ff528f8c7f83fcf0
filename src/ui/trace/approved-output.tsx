import { SegmentedControl, Stack, Title } from '@mantine/core'
import { useState } from 'react'
import type { Json } from '../api/wire.ts'
import { diffText } from '../code/diff-text.ts'
import { CodeDiff } from '../code/index.tsx'
import { JsonView } from '../json/json-view.tsx'
import { MarkedPlace } from './marked-place.tsx'

interface ApprovedOutputProps {
  output: Json
  approvedOutput: Json
  /** The dotted path to mark in the approved output. */
  marked?: string | undefined
}

/** An approved output, and how it differs from the output. */
export function ApprovedOutput({ output, approvedOutput, marked }: ApprovedOutputProps) {
  const [chosen, setMode] = useState<'changes' | 'value'>()
  const mode = chosen ?? (marked === undefined ? 'changes' : 'value')
  const isText = typeof output === 'string' && typeof approvedOutput === 'string'
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
          before={diffText(output)}
          after={diffText(approvedOutput)}
          label="Output and approved output"
          language={isText ? 'text' : 'json'}
        />
      ) : (
        <MarkedPlace marked={marked}>
          <JsonView value={approvedOutput} label="approved output" marked={marked} maxHeight="max(40vh, 280px)" />
        </MarkedPlace>
      )}
    </Stack>
  )
}
