import { Text } from '@mantine/core'
import { MAX_SCANNED_TRACES } from '../../limits.ts'
import type { TraceList } from '../api/wire.ts'
import { count } from '../parts/format.ts'

/** Says how much of a list was sorted. */
export const SortNote = ({ sortedOver }: Pick<TraceList, 'sortedOver'>) =>
  sortedOver &&
  !sortedOver.isAll && (
    <Text size="xs" c="dimmed" role="status">
      Only the newest {count(MAX_SCANNED_TRACES)} traces were sorted; {count(sortedOver.traces)} of them{' '}
      {sortedOver.traces === 1 ? 'matches' : 'match'}. Filter by time to sort older ones.
    </Text>
  )
