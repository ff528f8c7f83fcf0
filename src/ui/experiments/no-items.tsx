import { Text } from '@mantine/core'
import { useSearchParams } from 'wouter'
import type { ExperimentReport } from '../api/wire.ts'
import { itemListsOf } from './filters.ts'

/** Why a list of items is empty. */
export function NoItems({ report: { state, pending, items } }: { report: ExperimentReport }) {
  const [address] = useSearchParams()
  const isFirstList = itemListsOf(address).length > 1
  return (
    <Text size="sm" c="dimmed" py="md">
      {!isFirstList
        ? 'No items match.'
        : state === 'running' && pending === items
          ? 'Items to check will appear here once the first results arrive.'
          : 'Nothing to check: no items are unjudged or regressed.'}
    </Text>
  )
}
