import { nounFor } from '../../domain/counted.ts'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { count } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'

/** A dataset's counts, each with the filter for the items that it counts. */
export const COUNTS = [
  { field: 'items', label: 'Items', filter: {} },
  { field: 'accepted', label: 'Accepted', filter: { decision: 'accept' } },
  { field: 'corrected', label: 'Corrected', filter: { decision: 'correct' } },
  { field: 'imported', label: 'Imported', filter: { decision: 'import' } },
  { field: 'excluded', label: 'Excluded', filter: { excluded: 'true' } },
] as const

interface CountLinkProps {
  of: (typeof COUNTS)[number]
  dataset: Dataset
  project: string | undefined
  /** Whether to say what is counted. In a table, the column's header already does. */
  isLabeled?: boolean
}

/** One of a dataset's counts, with a link to the items that it counts. */
export function CountLink({ of: { field, label, filter }, dataset, project, isLabeled = false }: CountLinkProps) {
  const number = dataset[field]
  const noun = nounFor(number, 'item')
  const counted = field === 'items' ? noun : label.toLowerCase()
  const text = isLabeled ? `${count(number)} ${counted}` : count(number)
  if (number === 0) return <span>{text}</span>
  return (
    <TextLink
      href={pathWith(`/datasets/${dataset.id}`, { project, ...filter })}
      aria-label={`${count(number)} ${counted === noun ? '' : `${counted} `}${noun} in ${dataset.stepId}`}
    >
      {text}
    </TextLink>
  )
}
