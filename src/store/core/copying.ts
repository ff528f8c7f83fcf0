import { logFault } from '../../http/errors.ts'
import { STORE_DEADLINE_MS } from '../../limits.ts'
import { copyChanges, writesCopied } from './copies.ts'
import { openDatabase } from './database.ts'
import { Deadline } from './deadline.ts'
import { ForwardingDatabase } from './forwarding.ts'
import { boundShards, databaseOf, type StoreBindings } from './store.ts'

/**
 * Copies to the shards any changes that one request or job makes to `copied` tables, before the request is answered.
 * Does nothing if the deployment has only one database.
 */
export class Copying<Bindings extends StoreBindings> {
  readonly #bindings: Bindings
  readonly #shards: readonly number[]
  #isDue = false

  constructor(bindings: Bindings) {
    this.#bindings = bindings
    this.#shards = boundShards(bindings)
  }

  /** Returns the bindings (or the given ones) with a control database that notices writes to `copied` tables. */
  bindings(bindings = this.#bindings): Bindings {
    if (this.#shards.length === 0) return bindings
    const notice = () => {
      this.#isDue = true
    }
    return { ...bindings, DB: new NoticingDatabase(bindings.DB, notice) }
  }

  /**
   * Copies an organization's changes, if there may be any. If a database doesn't respond before the deadline, cron
   * copies them later.
   */
  async finish(organizationKey: number, deadline = new Deadline(STORE_DEADLINE_MS)): Promise<void> {
    if (!this.#isDue) return
    this.#isDue = false
    const shards = this.#shards.map(shard => openDatabase(databaseOf(this.#bindings, shard), deadline))
    try {
      await copyChanges(openDatabase(this.#bindings.DB, deadline), shards, organizationKey)
    } catch (error) {
      logFault('copy_failed', { organizationKey }, error)
    }
  }
}

/** A database that calls `notice` for each statement that may write to `copied` tables. */
class NoticingDatabase extends ForwardingDatabase {
  readonly #notice: () => void

  constructor(database: D1Database, notice: () => void) {
    super(database)
    this.#notice = notice
  }

  override prepare(query: string): D1PreparedStatement {
    if (writesCopied(query)) this.#notice()
    return super.prepare(query)
  }
}
