import { Text } from '@mantine/core'
import type { DatasetItem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { ReviewState } from '../parts/review-state.tsx'

const STATES = { accept: 'accepted', correct: 'corrected' } as const

interface ItemDecisionProps {
  item: DatasetItem
  userNames: ReadonlyMap<string, string>
}

/** The decision that turned a span into an item, with the reviewer and the time. */
export function ItemDecision({ item: { decision, by, at, stale }, userNames }: ItemDecisionProps) {
  return (
    <>
      {decision === null ? 'Imported' : <ReviewState state={STATES[decision]} isStale={stale} isCompact />}
      <Text size="xs" c="dimmed">
        {by !== null && (
          <>
            <bdi>
              <ShownText text={userNames.get(by) ?? '…'} />
            </bdi>
            ,{' '}
          </>
        )}
        <Moment at={at} />
      </Text>
    </>
  )
}
