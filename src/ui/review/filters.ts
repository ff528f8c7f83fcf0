/** Orders of the queue. */
export const ORDERS = [
  { value: 'oldest', label: 'Oldest first' },
  { value: 'newest', label: 'Newest first' },
  { value: 'negative', label: 'Negative first' },
  { value: 'random', label: 'Random' },
] as const

type Order = (typeof ORDERS)[number]['value']

/** Which part of the queue is gone through, and in which order. */
export interface QueueFilter {
  order: Order
  /** '': any. */
  stepId: string
  /** A trace's; '': any. */
  name: string
}

/** What the address names. An order that is none is the first. */
export const filterFrom = (parameters: URLSearchParams): QueueFilter => ({
  order: ORDERS.find(({ value }) => value === parameters.get('order'))?.value ?? ORDERS[0].value,
  stepId: parameters.get('stepId') ?? '',
  name: parameters.get('name') ?? '',
})

/** The address's parameters with another filter; the span that was looked at is of the old one. */
export function withFilter(parameters: URLSearchParams, filter: QueueFilter): URLSearchParams {
  const next = new URLSearchParams(parameters)
  next.delete('span')
  for (const [name, value] of Object.entries(filter)) {
    if (value === '' || value === ORDERS[0].value) next.delete(name)
    else next.set(name, value)
  }
  return next
}
