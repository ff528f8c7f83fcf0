import { Group, Title, VisuallyHidden } from '@mantine/core'
import type { PropsWithChildren } from 'react'
import { IconCheck, IconCircleDashed } from '../icons/index.ts'
import classes from './problem-page.module.css'

interface StageProps {
  title: string
  standing: 'done' | 'current' | 'later'
}

/** One stage on the way to a fix that holds. */
export const Stage = ({ title, standing, children }: PropsWithChildren<StageProps>) => (
  <li className={classes.stage} aria-current={standing === 'current' ? 'step' : undefined}>
    <Group gap={6} wrap="nowrap">
      {standing === 'done' ? (
        <IconCheck size={15} aria-hidden className={classes.done} />
      ) : (
        <IconCircleDashed size={15} aria-hidden className={classes.later} />
      )}
      <Title order={2} size="h3">
        {title}
        {standing === 'done' && <VisuallyHidden>, done</VisuallyHidden>}
      </Title>
    </Group>
    {children}
  </li>
)
