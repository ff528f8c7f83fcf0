import type { Store } from '../core/store.ts'

/*
 * A dataset's items are in the databases of their traces. Imported examples have no trace, so they're in the control
 * database. Each database has its own log, with numbers of its own.
 */

/** The stores of the databases that may have items of the organization's datasets. */
export const datasetStores = ({ control, shards }: Store): readonly Store[] =>
  shards.includes(control) ? shards : [control, ...shards]

/** Whether a store's database has none of the organization's traces, and so none of its items but imported examples. */
export const hasOnlyImports = ({ shard, shards }: Store): boolean => shards.every(each => each.shard !== shard)
