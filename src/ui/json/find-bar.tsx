import { Group, Text, TextInput } from '@mantine/core'
import { IconArrowUp, IconChevronDown, IconX } from '../icons/index.ts'
import { count } from '../parts/format.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { MAX_MATCHES } from './text-lines.ts'

interface FindBarProps {
  wanted: string
  onChange: (wanted: string) => void
  /** The number of matches. */
  total: number
  /** The index of the match that is shown. */
  current: number
  onStep: (step: 1 | -1) => void
  onClose: () => void
  label: string
}

/** Finds text in a value, and steps through the matches. */
export const FindBar = ({ wanted, onChange, total, current, onStep, onClose, label }: FindBarProps) => (
  <Group gap={4} wrap="nowrap" role="search" aria-label={`Find in ${label}`}>
    <TextInput
      size="xs"
      flex={1}
      miw={0}
      aria-label={`Find in ${label}`}
      placeholder="Find"
      autoFocus
      value={wanted}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      onKeyDown={event => {
        if (event.key === 'Enter' && !event.nativeEvent.isComposing) onStep(event.shiftKey ? -1 : 1)
        else if (event.key === 'Escape') onClose()
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
      data-find
    />
    <Text size="xs" c="dimmed" role="status" miw="4.5rem" ta="end">
      {wanted === '' ? '' : total === 0 ? 'No matches' : `${count(current + 1)} of ${totalOf(total)}`}
    </Text>
    <IconButton label="Previous match" Icon={IconArrowUp} disabled={total === 0} onClick={() => onStep(-1)} />
    <IconButton label="Next match" Icon={IconChevronDown} disabled={total === 0} onClick={() => onStep(1)} />
    <IconButton label="Close find" Icon={IconX} onClick={onClose} />
  </Group>
)

const totalOf = (total: number): string => (total === MAX_MATCHES ? `${count(total)} or more` : count(total))
