import { Group } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'
import classes from './problems.module.css'
import type { ProblemState } from './states.tsx'
import { STATES, stateName } from './states.tsx'

/** Shows only the problems in one state. */
export const StateFilter = ({ chosen }: { chosen: ProblemState | null }) => (
  <Group gap="xs" component="nav" aria-label="States">
    <Choice state={null} label="All" chosen={chosen} />
    {STATES.map(state => (
      <Choice key={state} state={state} label={stateName(state)} chosen={chosen} />
    ))}
  </Group>
)

interface ChoiceProps {
  state: ProblemState | null
  label: string
  chosen: ProblemState | null
}

function Choice({ state, label, chosen }: ChoiceProps) {
  const [address] = useSearchParams()
  return (
    <Link
      href={`/problems?${withParameters({ state })(address)}`}
      className={classes.filter ?? ''}
      aria-current={state === chosen ? 'true' : undefined}
    >
      {label}
    </Link>
  )
}
