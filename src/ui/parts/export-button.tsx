import { Button, type ButtonProps } from '@mantine/core'
import { IconDownload } from '../icons/index.ts'

/** Opens the export of a list. */
export const ExportButton = (props: Pick<ButtonProps, 'disabled' | 'size'> & { onClick?: () => void }) => (
  <Button size="compact-sm" {...props} variant="default" leftSection={<IconDownload size={14} aria-hidden />}>
    Export
  </Button>
)
