import { pathWith } from '../api/client.ts'
import { ExportDialog } from './export-dialog.tsx'

const FORMATS = [
  { value: 'jsonl', label: 'JSONL: every field' },
  { value: 'csv', label: 'CSV: one row per item' },
] as const

interface ExportListProps {
  /** The list's items, in the plural. */
  name: 'traces' | 'spans'
  project: string
  /** The list's filters, as an API query. */
  filters: string
}

/** Downloads a filtered list. */
export const ExportList = ({ name, project, filters }: ExportListProps) => (
  <ExportDialog
    title={`Export ${name}`}
    items={name}
    formats={FORMATS}
    description={`All ${name} that match the filters, up to 5,000 in each file`}
    pathOf={(format, cursor) => {
      const path = pathWith(`/api/${name}/export`, { projectSlug: project, format, cursor })
      return filters === '' ? path : `${path}&${filters}`
    }}
    nameOf={(format, part) => `${[project, name, part].filter(Boolean).join('-')}.${format}`}
  />
)
