import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { Counted } from '../parts/counted.tsx'
import { counted } from '../parts/format.ts'

interface ProofFiguresProps {
  problemId: string
  project: string
  proof: NonNullable<Problem['proof']>
}

/** How many of a problem's items the candidate's experiment fixed. Each number links to its items. */
export function ProofFigures({ problemId, project, proof: { experimentId, split, fixed, items } }: ProofFiguresProps) {
  const pathTo = (change?: 'fixed') =>
    experimentId && pathWith(`/experiments/${experimentId}`, { project, problem: problemId, problemId, split, change })
  return (
    <>
      <Counted value={fixed} path={pathTo('fixed')} label={`${counted(fixed, 'item')} fixed`} /> of{' '}
      <Counted value={items} path={pathTo()} label={`${counted(items, 'item')} for this problem`} />
    </>
  )
}
