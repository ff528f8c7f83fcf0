import { Alert } from '@mantine/core'
import type { PropsWithChildren, ReactNode } from 'react'
import { IconAlertTriangle } from '../icons/index.ts'
import classes from './warning.module.css'

interface WarningProps {
  title?: string
  icon?: ReactNode
  /** Whether the warning responds to an action. If so, screen readers read it immediately. */
  isUrgent?: boolean
}

/** A warning. */
export const Warning = ({
  title,
  icon = <IconAlertTriangle size={16} aria-hidden />,
  isUrgent = false,
  children,
}: PropsWithChildren<WarningProps>) => (
  <Alert
    variant="light"
    color="yellow"
    p="xs"
    title={title}
    icon={icon}
    role={isUrgent ? 'alert' : 'status'}
    classNames={{
      root: classes.root ?? '',
      title: classes.title ?? '',
      icon: classes.icon ?? '',
      message: classes.message ?? '',
    }}
  >
    {children}
  </Alert>
)
