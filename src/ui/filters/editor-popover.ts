import type { PopoverProps } from '@mantine/core'

/** How a filter's editor opens below its button. */
export const EDITOR_POPOVER = {
  position: 'bottom-start',
  width: 280,
  offset: 4,
  shadow: 'md',
  trapFocus: true,
  transitionProps: { duration: 0 },
} as const satisfies Partial<PopoverProps>
