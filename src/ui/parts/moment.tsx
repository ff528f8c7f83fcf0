import { Text, type TextProps } from '@mantine/core'
import { Tip } from './tip.tsx'

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const today = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const thisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
})
const anyYear = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** A short form for columns: the time for today, the date without the year for this year, otherwise the full date. */
function briefly(time: Date): string {
  const now = new Date()
  if (time.toDateString() === now.toDateString()) return today.format(time)
  return (time.getFullYear() === now.getFullYear() ? thisYear : anyYear).format(time)
}

type MomentProps = TextProps & {
  at: string
  /** By default, to the minute. `exact` is for times within a run, `brief` for a column of a table. */
  precision?: 'exact' | 'minute' | 'brief'
}

/** A time (ISO 8601, UTC) in the reader's time zone. Hovering over it shows the seconds, and UTC. */
export const Moment = ({ at, precision = 'minute', ...props }: MomentProps) => {
  const time = new Date(at)
  const shown = precision === 'brief' ? briefly(time) : (precision === 'exact' ? exact : minute).format(time)
  return (
    <Tip label={`${exact.format(time)} (${at.replace('T', ' ').replace('Z', '')} UTC)`}>
      <Text span inherit {...props}>
        <time dateTime={at}>{shown}</time>
      </Text>
    </Tip>
  )
}
