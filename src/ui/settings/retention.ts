import type { Project } from '../api/wire.ts'

type Retention = Pick<Project, 'retentionDays' | 'retainReviewed'>

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`)

/** A short description of how long a project keeps traces. */
export function retentionInWords({ retentionDays, retainReviewed }: Retention): string {
  if (retentionDays === null) return 'Kept indefinitely'
  return `${days(retentionDays)}${retainReviewed ? ', except reviewed traces' : ''}`
}

/** Describes the traces that a retention change deletes. Undefined if it deletes none. */
export function deletedByChange(before: Retention, after: Retention): string | undefined {
  if (after.retentionDays === null) return undefined
  const isShorter = before.retentionDays === null || after.retentionDays < before.retentionDays
  const isWider = before.retentionDays !== null && before.retainReviewed && !after.retainReviewed
  if (!isShorter && !isWider) return undefined
  const age = `older than ${days(after.retentionDays)}`
  const traces = after.retainReviewed ? `Unreviewed traces ${age}` : `Traces ${age}, reviewed or not,`
  return `${traces} will be deleted within an hour, along with their feedback, reviews, and analyses. You can't undo this.`
}
