import type { Store } from '../store/core/store.ts'
import { storeOfFeedback, storeOfSpan, storeOfTrace } from '../store/traces/placed.ts'
import type { Contract } from './contract.ts'

const PLACES = {
  trace: { parameter: 'traceId', find: storeOfTrace },
  span: { parameter: 'spanId', find: storeOfSpan },
  feedback: { parameter: 'feedbackId', find: storeOfFeedback },
} as const

/** The store that a contract's handler gets. It's in the control database or in the database of the path's trace. */
export async function placedStore({ at }: Contract, store: Store, params: unknown): Promise<Store> {
  if (!at) return store
  const { parameter, find } = PLACES[at]
  const sent: Readonly<Record<string, unknown>> = { ...(typeof params === 'object' && params) }
  const id = sent[parameter]
  return typeof id === 'string' ? find(store, id) : store
}
