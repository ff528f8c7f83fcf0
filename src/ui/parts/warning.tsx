import { Alert } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { PropsWithChildren } from 'react'
import classes from './warning.module.css'

/** Says what to mind before going on. */
export const Warning = ({ title, children }: PropsWithChildren<{ title: string }>) => (
  <Alert
    title={title}
    icon={<IconAlertTriangle aria-hidden />}
    role="note"
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
