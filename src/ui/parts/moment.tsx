import { Text, type TextProps, Tooltip } from '@mantine/core'

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** A time (ISO 8601, UTC) in the reader's time zone. Hovering or focusing it shows UTC. */
export const Moment = ({ at, ...props }: { at: string } & TextProps) => (
  <Tooltip label={`${at.replace('T', ' ').replace('Z', '')} UTC`} events={{ hover: true, focus: true, touch: true }}>
    <Text span inherit {...props}>
      <time dateTime={at}>{local.format(new Date(at))}</time>
    </Text>
  </Tooltip>
)
