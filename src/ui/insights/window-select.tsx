import { SegmentedControl } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { WINDOWS, type WindowDays, windowNamed } from './window.ts'

/** The window that the address names, and how to name another one there. */
export function useWindow(): [WindowDays, (days: WindowDays) => void] {
  const [parameters, setParameters] = useSearchParams()
  const choose = (days: WindowDays) =>
    setParameters(
      current => {
        const next = new URLSearchParams(current)
        next.set('days', String(days))
        return next
      },
      { replace: true },
    )
  return [windowNamed(parameters.get('days')), choose]
}

interface WindowSelectProps {
  days: WindowDays
  onChoose: (days: WindowDays) => void
}

/** Chooses how far back the page looks. */
export const WindowSelect = ({ days, onChoose }: WindowSelectProps) => (
  <SegmentedControl
    size="xs"
    aria-label="How far back"
    value={String(days)}
    onChange={value => onChoose(windowNamed(value))}
    data={WINDOWS.map(option => ({ value: String(option), label: `${option} days` }))}
  />
)
