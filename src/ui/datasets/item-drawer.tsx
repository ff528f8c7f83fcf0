import { Drawer, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import type { Dataset, DatasetItem } from '../api/wire.ts'
import { IconChevronLeft, IconChevronRight } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { ItemActions } from './item-actions.tsx'
import { ItemFacts } from './item-facts.tsx'
import { ItemValues } from './item-values.tsx'
import { itemQuery } from './queries.ts'
import { type ItemPages, useChosenItem } from './use-chosen-item.ts'

interface ItemDrawerProps {
  dataset: Dataset
  /** The loaded items, and the query that loads more. */
  items: readonly DatasetItem[]
  query: ItemPages
  splits: readonly string[]
  typeNames: ReadonlyMap<string, string>
  userNames: ReadonlyMap<string, string>
}

/** The item in the URL. J and K move through the list. */
export function ItemDrawer({ dataset, items, query, splits, ...names }: ItemDrawerProps) {
  const { itemId, index, version, showNext, showPrevious, close } = useChosenItem(items, query)
  const listed = items[index]
  // The item is loaded separately, because it may leave the list.
  const {
    data: item,
    error,
    refetch,
  } = useQuery({
    ...itemQuery(dataset.id, itemId ?? '', version),
    placeholderData: () => (listed?.truncated.length === 0 ? listed : undefined),
    enabled: itemId !== null,
  })
  useHotkeys([
    ['J', () => showNext?.()],
    ['K', () => showPrevious?.()],
  ])
  return (
    <Drawer
      opened={itemId !== null}
      onClose={close}
      position="right"
      size="xl"
      title={
        index === -1 ? 'Item' : `Item ${count(index + 1)} of ${count(items.length)}${query.hasNextPage ? '+' : ''}`
      }
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Group gap={4}>
          <IconButton
            label="Previous item (K)"
            Icon={IconChevronLeft}
            variant="default"
            disabled={!showPrevious}
            onClick={() => showPrevious?.()}
          />
          <IconButton
            label="Next item (J)"
            Icon={IconChevronRight}
            variant="default"
            disabled={!showNext}
            onClick={() => showNext?.()}
          />
        </Group>
        {item ? (
          <>
            <ItemFacts item={item} dataset={dataset} {...names} />
            {version === null ? (
              <ItemActions key={item.id} item={item} dataset={dataset} splits={splits} />
            ) : (
              <Text size="sm" c="dimmed">
                This is an older version. To change the item, remove the version filter.
              </Text>
            )}
            <ItemValues key={`values of ${item.id}`} item={item} />
          </>
        ) : error ? (
          <FaultAlert error={error} title="Couldn't load this item" onRetry={refetch} />
        ) : (
          <Skeleton h="60vh" aria-label="Loading the item" />
        )}
      </Stack>
    </Drawer>
  )
}
