import { Text } from '@mantine/core'
import { count as formatCount } from './format.ts'

interface ExpiredProps {
  count: number
  /** What is counted. */
  one: string
  many: string
}

/** Says how many counted items are missing from a list. */
export const Expired = ({ count, one, many }: ExpiredProps) =>
  count > 0 && (
    <Text size="sm" role="status">
      {count === 1
        ? `1 more ${one} is counted, but its trace has expired.`
        : `${formatCount(count)} more ${many} are counted, but their traces have expired.`}
    </Text>
  )
