import { SegmentedControl } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'
import { WINDOWS, type WindowDays, windowNamed } from './window.ts'

/** The period in the URL, and how to change it. */
export function useWindow(): [WindowDays, (days: WindowDays) => void] {
  const [parameters, setParameters] = useSearchParams()
  const choose = (days: WindowDays) => setParameters(withParameters({ days: String(days) }), { replace: true })
  return [windowNamed(parameters.get('days')), choose]
}

interface WindowSelectProps {
  days: WindowDays
  onChoose: (days: WindowDays) => void
}

/** Chooses the period. */
export const WindowSelect = ({ days, onChoose }: WindowSelectProps) => (
  <SegmentedControl
    size="xs"
    aria-label="Period"
    value={String(days)}
    onChange={value => onChoose(windowNamed(value))}
    data={WINDOWS.map(option => ({ value: String(option), label: `${option} days` }))}
  />
)
