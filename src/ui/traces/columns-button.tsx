import { Button, type ButtonProps } from '@mantine/core'
import type { Ref } from 'react'
import { IconColumns } from '../icons/index.ts'

/** Opens the list of columns. */
export const ColumnsButton = (props: ButtonProps & { ref?: Ref<HTMLButtonElement> }) => (
  <Button size="compact-sm" variant="default" leftSection={<IconColumns size={14} aria-hidden />} {...props}>
    Columns
  </Button>
)
