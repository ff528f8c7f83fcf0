import { Skeleton, Text } from '@mantine/core'
import type { Json, Span } from '../api/wire.ts'
import { JsonView } from '../json/json-view.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { MarkedPlace } from './marked-place.tsx'
import { useWholeSpan } from './use-whole-span.ts'

interface ValueSectionProps {
  span: Span
  field: 'input' | 'state' | 'metadata'
  label: string
  /** The dotted path to mark. */
  marked: string | undefined
}

/** One of a span's values, in full. */
export function ValueSection({ span: shown, field, label, marked }: ValueSectionProps) {
  const { span, error, refetch } = useWholeSpan(shown, [field])
  if (error) return <FaultAlert error={error} onRetry={refetch} />
  if (!span) return <Skeleton h={220} aria-label={`Loading ${label.toLowerCase()}`} />
  const value = span[field]
  if (isNothing(value)) return <Text c="dimmed">{NOTHING[field]}</Text>
  return (
    <MarkedPlace marked={marked}>
      <JsonView value={value} label={label.toLowerCase()} marked={marked} maxHeight="max(50vh, 320px)" />
    </MarkedPlace>
  )
}

const isNothing = (value: Json): boolean =>
  value === null || (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0)

const NOTHING = {
  input: 'This span has no input.',
  state: 'This span has no state.',
  metadata: 'This span has no metadata.',
}
