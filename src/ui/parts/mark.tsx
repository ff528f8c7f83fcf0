import { Badge } from '@mantine/core'
import type { IconCheck } from '../icons/index.ts'
import classes from './mark.module.css'

export interface MarkProps {
  label: string
  Icon: typeof IconCheck
  tone: 'quiet' | 'good' | 'open' | 'bad'
}

/** A state in one word, with an icon and a color. */
export const Mark = ({ label, Icon, tone }: MarkProps) => (
  <Badge
    variant="transparent"
    miw="max-content"
    className={`${classes.mark} ${classes[tone]}`}
    leftSection={<Icon size={13} aria-hidden />}
  >
    {label}
  </Badge>
)
