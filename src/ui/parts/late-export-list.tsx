import { ExportButton } from './export-button.tsx'
import { late } from './late.tsx'

/** The export dialog of a list. It loads after the list. */
export const LateExportList = late(
  async () => (await import('./export-list.tsx')).ExportList,
  () => <ExportButton disabled />,
)
