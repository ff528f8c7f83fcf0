import { Anchor } from '@mantine/core'
import type { Delivery } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { DeliveryStateMark } from './webhook-state-mark.tsx'

interface DeliveryTableProps {
  /** Undefined while loading. */
  deliveries: readonly Delivery[] | undefined
  onOpen: (delivery: Delivery) => void
}

/** A webhook's deliveries. */
export function DeliveryTable({ deliveries, onOpen }: DeliveryTableProps) {
  const columns: Column<Delivery>[] = [
    {
      label: 'Event',
      cell: delivery => (
        <Anchor component="button" type="button" size="sm" fw={600} ta="start" onClick={() => onOpen(delivery)}>
          {delivery.type}
        </Anchor>
      ),
    },
    { label: 'When', cell: ({ at }) => <Moment at={at} precision="exact" /> },
    { label: 'State', cell: ({ state }) => <DeliveryStateMark state={state} />, isNarrow: true },
    { label: 'Attempts', cell: ({ attempts }) => count(attempts), isNarrow: true },
    {
      label: 'Next attempt',
      cell: ({ nextAttemptAt }) => (nextAttemptAt === null ? 'None' : <Moment at={nextAttemptAt} precision="exact" />),
    },
    { label: 'Response', cell: ({ attempt }) => <Answered attempt={attempt} /> },
  ]
  return <StackedTable label="Deliveries" columns={columns} rows={deliveries} keyOf={({ id }) => id} />
}

/** How the latest attempt ended, in brief. */
function Answered({ attempt }: Pick<Delivery, 'attempt'>) {
  if (attempt === null) return 'None yet'
  if (attempt.status !== null) return attempt.status
  return attempt.error === null ? 'None' : <ShownText text={attempt.error} />
}
