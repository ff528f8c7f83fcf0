import { eq } from 'drizzle-orm'
import { type KeyLane, keyLane } from '../../domain/ids.ts'
import { type Epoch, parseEpochs, usedEpochs } from '../../domain/shards.ts'
import { sweeps } from '../schema/sweeps.ts'
import { type Database, openDatabase } from './database.ts'
import type { Deadline } from './deadline.ts'

/** An organization: `key` in the database, `id` and `slug` in the API. */
export interface Organization {
  key: number
  id: string
  slug: string
  /**
   * The events that its projects send to webhooks: a line for each enabled webhook, in the format of `sentEventsOf`.
   * Null if they send none. In requests, this may be up to 30 seconds old.
   */
  sentEvents: string | null
  /**
   * The distinct epochs of its projects, and those that a new project may have, each on its own line in the format of
   * `formatEpochs`. Null if there's only one database. In requests, this may be up to 30 seconds old.
   */
  epochs: string | null
}

/** Who reads from a store. */
export interface Viewer {
  /** The reviewer: a user's id, or the id of a key that acts for no user. Null for jobs. */
  readonly viewerId: string | null
  /** Whether a blind review policy hides other people's votes from this viewer. `core/veil.ts` has the conditions. */
  readonly isBlind: boolean
}

/**
 * D1 and R2, bound to one organization. Every query on tenants' data gets a store as its first argument.
 * `schema/homes.ts` says which tables are in which database.
 */
export interface Store extends Viewer {
  readonly organization: Organization
  /** The number of its database, as in `domain/shards.ts`. */
  readonly shard: number
  /** Which keys its new traces may have. The control database and R2 identify traces only by their keys. */
  readonly keyLane: KeyLane
  readonly database: Database
  /** The store of the control database: this one, if there's only one database. */
  readonly control: Store
  /**
   * The stores of all databases that may have the organization's traces. If there's only one database, only this store.
   */
  readonly shards: readonly Store[]
  /** The stores of all databases that may have any of the organization's rows, starting with the control database's. */
  readonly databases: readonly Store[]
  /** The store of the database with this number. */
  readonly in: (shard: number) => Store
  readonly payloads: R2Bucket
  readonly deadline: Deadline
  /**
   * The keys of the projects whose events this request or job may have written to this database. Null means events for
   * webhooks that cover every project.
   */
  readonly outbox: Set<number | null>
  /** The organization's stores that this request or job has used. */
  readonly opened: ReadonlyMap<number, Store>
  /** The databases that didn't respond to a request that can do without them. */
  readonly missing: Set<number>
}

/**
 * D1 and R2 for code that runs before the organization is known or covers all organizations: looking up keys by hash,
 * creating organizations, cron jobs (`purge.ts`, `orphans.ts`, `output-days.ts`), and `ownership.ts`. Carefully review
 * any query that uses an unscoped store.
 */
export interface UnscopedStore {
  /** Prevents a `Store`, which has all the other fields, from being passed instead. */
  readonly scope: 'deployment'
  /** The number of its database, as in `domain/shards.ts`. */
  readonly shard: number
  readonly database: Database
  /** The store of the control database: this one, if there's only one database. */
  readonly control: UnscopedStore
  /** The stores of all the deployment's databases, starting with the control database's. */
  readonly shards: readonly UnscopedStore[]
  readonly payloads: R2Bucket
  readonly deadline: Deadline
}

/** The bindings for data storage. */
export interface StoreBindings {
  /** The control database, which also has the traces from before there were shards. */
  DB: D1Database
  /** The other databases for traces, from DB_1 on. */
  [shard: `DB_${number}`]: D1Database | undefined
  PAYLOADS: R2Bucket
}

/** The database of a shard. A project's epochs list only shards that have been bound. */
export function databaseOf(bindings: StoreBindings, shard: number): D1Database {
  const database = shard === 0 ? bindings.DB : bindings[`DB_${shard}`]
  if (!database) throw new Error(`DB_${shard} isn't bound`)
  return database
}

/** The bound shards other than `DB`. */
export function boundShards(bindings: StoreBindings): number[] {
  const shards = []
  while (bindings[`DB_${shards.length + 1}`]) shards.push(shards.length + 1)
  return shards
}

/** A job sees everything. */
export const JOB: Viewer = { viewerId: null, isBlind: false }

/** Opens one organization's store in the control database, for one request or one step of a job. */
export function openStore(
  bindings: StoreBindings,
  organization: Organization,
  deadline: Deadline,
  viewer: Viewer = JOB,
): Store {
  return new Databases(bindings, organization, deadline, viewer).in(0)
}

/** Opens one organization's store in the database of a shard. */
export const openShard = (
  bindings: StoreBindings,
  organization: Organization,
  deadline: Deadline,
  shard: number,
): Store => new Databases(bindings, organization, deadline, JOB).in(shard)

/** Whether a store's database may have traces of its organization. */
export const mayHaveTraces = (store: Store): boolean => store.shards.includes(store)

/** The distinct epochs of an organization's projects. */
export const epochsIn = ({ epochs }: Pick<Organization, 'epochs'>): readonly (readonly Epoch[])[] =>
  (epochs?.split('\n') ?? [null]).map(parseEpochs)

/** One organization's databases. Opens each database only once, when it's first needed. */
class Databases {
  readonly #opened = new Map<number, Store>()
  readonly #missing = new Set<number>()
  readonly #bindings: StoreBindings
  readonly #organization: Organization
  readonly #deadline: Deadline
  readonly #viewer: Viewer

  constructor(bindings: StoreBindings, organization: Organization, deadline: Deadline, viewer: Viewer) {
    this.#bindings = bindings
    this.#organization = organization
    this.#deadline = deadline
    this.#viewer = viewer
  }

  in(shard: number): Store {
    const opened = this.#opened.get(shard) ?? this.#open(shard)
    this.#opened.set(shard, opened)
    return opened
  }

  #open(shard: number): Store {
    const databases = this
    return {
      organization: this.#organization,
      shard,
      get keyLane() {
        return keyLane(shard, 1 + boundShards(databases.#bindings).length)
      },
      database: openDatabase(databaseOf(this.#bindings, shard), this.#deadline),
      payloads: this.#bindings.PAYLOADS,
      deadline: this.#deadline,
      viewerId: this.#viewer.viewerId,
      isBlind: this.#viewer.isBlind,
      outbox: new Set(),
      opened: this.#opened,
      missing: this.#missing,
      in: each => this.in(each),
      get control() {
        return databases.in(0)
      },
      get shards() {
        return databases.#shards().map(each => databases.in(each))
      },
      get databases() {
        return [...new Set([this.control, ...this.shards])]
      },
    }
  }

  /** The shards in every epoch of every project, newest epochs first. */
  #shards(): readonly number[] {
    const used = epochsIn(this.#organization).flatMap(each => usedEpochs(each, Date.now()))
    return [...new Set(used.toSorted((one, other) => other.from - one.from).flatMap(({ shards }) => shards))]
  }
}

/** Opens a request's store again, with a new deadline, for work that continues past the first deadline. */
export const reopenStore = (bindings: StoreBindings, store: Store, deadline: Deadline): Store =>
  openStore(bindings, store.organization, deadline, store).in(store.shard)

/** Opens a store that isn't bound to an organization. */
export function openUnscopedStore(bindings: StoreBindings, deadline: Deadline, shard = 0): UnscopedStore {
  const database = openDatabase(databaseOf(bindings, shard), deadline)
  return {
    scope: 'deployment',
    shard,
    database,
    payloads: bindings.PAYLOADS,
    deadline,
    get control() {
      return shard === 0 ? this : openUnscopedStore(bindings, deadline)
    },
    get shards() {
      const bound = boundShards(bindings)
      return [0, ...bound].map(each => openUnscopedStore(bindings, deadline, each))
    },
  }
}

/** Throws a 503 if one of the databases doesn't respond or lacks this release's tables. */
export async function requireDatabases({ shards }: UnscopedStore): Promise<void> {
  await Promise.all(
    shards.map(({ database }) => database.select({ name: sweeps.name }).from(sweeps).where(eq(sweeps.name, ''))),
  )
}
