import { Group, NumberInput, Select, TextInput } from '@mantine/core'
import { IconTrash } from '../icons/index.ts'
import { IconButton } from '../parts/icon-button.tsx'
import type { RuleDraft } from './evaluator-draft.ts'
import { COMPARISON_LABELS } from './evaluator-words.ts'

const TYPES = [
  { value: 'ignore', label: 'Ignore' },
  { value: 'number', label: COMPARISON_LABELS.number },
  { value: 'text', label: COMPARISON_LABELS.text },
  { value: 'exact', label: COMPARISON_LABELS.exact },
  { value: 'fields', label: COMPARISON_LABELS.fields },
] as const

interface RuleRowProps {
  rule: RuleDraft
  /** The rule's position in the list, starting at 1. */
  place: number
  onChange: (part: Partial<RuleDraft>) => void
  onRemove: () => void
  error: string | undefined
}

/** How to compare one part of an output. */
export const RuleRow = ({ rule: { path, type, tolerance }, place, onChange, onRemove, error }: RuleRowProps) => (
  <Group gap="xs" align="start" role="group" aria-label={`Path ${place}`}>
    <TextInput
      size="xs"
      flex="1 1 5rem"
      aria-label="Path"
      placeholder="items.*.price"
      required
      autoFocus={path === ''}
      value={path}
      onChange={({ currentTarget }) => onChange({ path: currentTarget.value })}
      error={error}
    />
    <Select
      size="xs"
      w={92}
      aria-label="Comparison"
      data={TYPES}
      allowDeselect={false}
      value={type}
      onChange={chosen => chosen !== null && onChange({ type: chosen })}
    />
    {type === 'number' && (
      <Tolerance value={tolerance} onChange={given => onChange({ tolerance: given })} isInRow error={undefined} />
    )}
    <IconButton label={`Remove path ${place}`} Icon={IconTrash} onClick={onRemove} />
  </Group>
)

interface ToleranceProps {
  value: number | string
  onChange: (value: number | string) => void
  /** Whether the field is one of several in a row. If so, it has no visible label. */
  isInRow?: boolean
  error: string | undefined
}

/** How far apart two numbers may be. */
export const Tolerance = ({ value, onChange, isInRow = false, error }: ToleranceProps) => (
  <NumberInput
    {...(isInRow ? { size: 'xs', w: 64, 'aria-label': 'Tolerance' } : { label: 'Tolerance' })}
    placeholder="0"
    min={0}
    hideControls
    value={value}
    onChange={onChange}
    error={error}
  />
)
