import { Group, Skeleton, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { useNames } from '../api/names.ts'
import type { ExperimentReport } from '../api/wire.ts'
import { IconChevronLeft, IconChevronRight, IconKeyboard } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import { KeysHelp } from '../parts/keys-help.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { handle } from '../parts/use-keys.ts'
import { itemListsOf } from './filters.ts'
import { Item } from './item.tsx'
import { ItemFilters } from './item-filters.tsx'
import classes from './items.module.css'
import { KEYS, useReportKeys } from './keys.ts'
import { NewResults } from './new-results.tsx'
import { NoItems } from './no-items.tsx'
import { itemsQuery } from './queries.ts'
import { useOpenItem } from './use-open-item.ts'
import { WhoDecides } from './who-decides.tsx'

/** An experiment's items. One of them is open. */
export function Items({ report }: { report: ExperimentReport }) {
  const [address] = useSearchParams()
  const [isHelpOpen, help] = useDisclosure()
  const query = useInfiniteQuery(itemsQuery(report.id, itemListsOf(address)))
  const items = query.data?.pages.flatMap(page => page.items)
  const { openId, toggle, move } = useOpenItem(items ?? [])
  const names = useNames((items ?? []).map(({ review }) => review?.by))
  useReportKeys({
    next: () => handle(() => move(1)),
    previous: () => handle(() => move(-1)),
    help: () => handle(help.open),
  })
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="start" gap="xs" wrap="nowrap">
        <ItemFilters report={report} />
        <Group gap={2} wrap="nowrap">
          <IconButton label="Previous item (K)" Icon={IconChevronLeft} onClick={() => move(-1)} />
          <IconButton label="Next item (J)" Icon={IconChevronRight} onClick={() => move(1)} />
          <IconButton label="Keyboard shortcuts (?)" Icon={IconKeyboard} onClick={help.open} />
        </Group>
      </Group>
      <WhoDecides />
      {items && <NewResults report={report} isEmpty={items.length === 0} onShow={query.refetch} />}
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the items" onRetry={query.refetch} />
      )}
      {!query.error && !items && <Skeleton h={320} />}
      {items?.length === 0 && !query.hasNextPage && <NoItems report={report} />}
      {items && items.length > 0 && (
        <ol className={classes.list} aria-label="Items">
          {items.map(item => (
            <Item
              key={item.id}
              report={report}
              item={item}
              isOpen={item.id === openId}
              reviewer={item.review && names.get(item.review.by)}
              onToggle={() => toggle(item.id)}
              onDecided={() => move(1)}
            />
          ))}
        </ol>
      )}
      <ShowMore query={query} />
      <KeysHelp shortcuts={KEYS} isOpen={isHelpOpen} onClose={help.close} />
    </Stack>
  )
}
