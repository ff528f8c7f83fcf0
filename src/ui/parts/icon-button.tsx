import { ActionIcon, type ActionIconProps } from '@mantine/core'
import type { IconPlus } from '../icons/index.ts'
import { Tip } from './tip.tsx'

export interface IconButtonProps extends Pick<ActionIconProps, 'variant' | 'size' | 'disabled'> {
  label: string
  Icon: typeof IconPlus
  iconSize?: number
  onClick: () => void
}

/** A button that shows an icon, with its label on hover and focus. */
export const IconButton = ({ label, Icon, iconSize = 16, variant = 'subtle', ...props }: IconButtonProps) => (
  <Tip label={label}>
    <ActionIcon {...props} variant={variant} color="gray" aria-label={label}>
      <Icon size={iconSize} aria-hidden />
    </ActionIcon>
  </Tip>
)
