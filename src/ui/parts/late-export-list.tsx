import { ExportButton } from './export-button.tsx'
import { late } from './late.tsx'

/** The export of a list, which loads after the list. */
export const LateExportList = late(
  async () => (await import('./export-list.tsx')).ExportList,
  () => <ExportButton disabled />,
)
