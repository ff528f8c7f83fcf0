import { useQuery } from '@tanstack/react-query'
import { disputesQuery } from '../api/disputes.ts'
import { count } from '../parts/format.ts'
import { useProject } from '../session/project.ts'

/** How many outputs are waiting for an adjudicator. Renders nothing if there are none. */
export function Disputes() {
  const { data } = useQuery(disputesQuery(useProject()))
  if (!data || data.remaining === 0) return null
  const shown = `${count(data.remaining)}${data.remainingIsMinimum ? '+' : ''}`
  return <span className="frame-waits">{shown}</span>
}
