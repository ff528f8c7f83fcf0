import { type SQL, sql } from 'drizzle-orm'
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import { COPIED_CHANGES, COPIED_TEXT_VERSIONS, MAX_ARRAY_BYTES, MAX_CHANGE_ATTEMPTS } from '../../limits.ts'
import { projects, stepNames, users } from '../schema/accounts.ts'
import { projectErrorTypes } from '../schema/attribution.ts'
import { copiedChanges, copies } from '../schema/copies.ts'
import { datasetSettings } from '../schema/datasets.ts'
import { problems } from '../schema/problems.ts'
import { reviewPolicies, reviewPolicySteps } from '../schema/review-policies.ts'
import { sweeps } from '../schema/sweeps.ts'
import { textActivations, textVersions, versionedTexts, watchLooks } from '../schema/texts.ts'
import type { Database } from './database.ts'
import { isOneOf } from './rows.ts'
import type { UnscopedStore } from './store.ts'

/*
 * Copies the rows of `copied` tables from the control database to the others (docs/decisions/0014). Triggers in the
 * control database log the key of each changed row. A copy transfers the rows as they are at that time, so it can be
 * repeated. Only a copy that continues where the database's last one ended takes effect, so a slow copy can't bring old
 * rows back.
 */

/** A copied table, with its columns as the database names them. */
interface Copied {
  name: string
  columns: readonly string[]
  key: readonly string[]
  /** The organization of the row with this alias. */
  organizationOf: (row: string) => string
}

const ofOrganization = (row: string) => `${row}.organization_key`
const ofProject = (row: string) => `(select organization_key from projects where key = ${row}.project_key)`
/** Rows that belong to a text are deleted before the text, so the text still exists when their deletion is logged. */
const ofText = (row: string) => `(select organization_key from versioned_texts where key = ${row}.text_key)`

function copied(table: SQLiteTable, organizationOf: Copied['organizationOf']): Copied {
  const { name, columns, primaryKeys } = getTableConfig(table)
  const key: readonly SQLiteColumn[] = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)
  return { name, columns: columns.map(column => column.name), key: key.map(column => column.name), organizationOf }
}

/** Every table whose home is `copied`. */
const COPIED: readonly Copied[] = [
  copied(projects, ofOrganization),
  copied(users, ofOrganization),
  copied(versionedTexts, ofOrganization),
  copied(stepNames, ofProject),
  copied(projectErrorTypes, ofProject),
  copied(datasetSettings, ofProject),
  copied(problems, ofProject),
  copied(reviewPolicies, ofProject),
  copied(reviewPolicySteps, ofProject),
  copied(textVersions, ofText),
  copied(textActivations, ofText),
  copied(watchLooks, ofText),
]

const WRITES = new RegExp(
  `\\b(?:insert into|update|delete from) "?(?:${COPIED.map(({ name }) => name).join('|')})\\b`,
  'i',
)

/** Whether a statement may write a copied table. */
export const writesCopied = (statement: string): boolean => WRITES.test(statement)

const keyOf = ({ key }: Copied, row: string) => `json_array(${key.map(column => `${row}.${column}`).join(', ')})`

const EVENTS = [
  { event: 'insert', row: 'new' },
  { event: 'update', row: 'new' },
  { event: 'delete', row: 'old' },
] as const

const triggerOf = ({ name }: Copied, event: string) => `copy_${name}_${event}`

/** Whether the control database logs changes of all copied tables. */
export async function isLogging({ database }: UnscopedStore): Promise<boolean> {
  const names = COPIED.flatMap(table => EVENTS.map(({ event }) => triggerOf(table, event)))
  const found = await database.all(
    sql`select name from sqlite_master where type = 'trigger' and ${isOneOf(sql`name`, names)}`,
  )
  return found.length === names.length
}

/** Makes the control database log changes. Until then, or if there's only one database, writes cost nothing extra. */
export async function logChanges({ database }: UnscopedStore): Promise<void> {
  const statements = COPIED.flatMap(table =>
    EVENTS.map(({ event, row }) =>
      database.$client.prepare(
        `create trigger if not exists ${triggerOf(table, event)} after ${event} on ${table.name} begin
          insert into copied_changes (organization_key, table_name, row_key)
          values (coalesce(${table.organizationOf(row)}, 0), '${table.name}', ${keyOf(table, row)}); end`,
      ),
    ),
  )
  await database.$client.batch(statements)
}

const selectKeys = (table: Copied) =>
  `select coalesce(${table.organizationOf(table.name)}, 0) as organization, '${table.name}' as name,
    ${keyOf(table, table.name)} as key from ${table.name}`

/** The keys of a shard's copied rows, in the form that `logAllRows` accepts. */
export async function listCopiedKeys({ database }: UnscopedStore): Promise<string[]> {
  const { $client: client } = database
  const results = await client.batch<{ value: string }>(
    COPIED.map(table =>
      client.prepare(
        `select json_object('organization', organization, 'name', name, 'key', json(key)) as value from (${selectKeys(table)})`,
      ),
    ),
  )
  return results.flatMap(({ results }) => results.map(({ value }) => value))
}

/**
 * Logs all rows, and the keys of rows that only shards still have, for shards that were added or restored. Later
 * changes get numbers after `copiedUntil`. Returns the number of the last change.
 */
export async function logAllRows(
  { database }: UnscopedStore,
  { copiedUntil, keys }: { copiedUntil: number; keys: readonly string[] },
): Promise<number> {
  const { $client: client } = database
  const log = 'insert into copied_changes (organization_key, table_name, row_key)'
  const results = await client.batch<{ sequence: number }>([
    // This logs a row that never exists, so that later changes get higher numbers.
    client
      .prepare(
        `insert into copied_changes (sequence, organization_key, table_name, row_key)
         select ?1, 0, 'projects', '[0]' where ?1 > (${LAST_LOGGED})`,
      )
      .bind(copiedUntil + 1),
    ...parametersOf(keys).map(parameter =>
      client
        .prepare(
          `${log} select item.value ->> 'organization', item.value ->> 'name', item.value ->> 'key' from json_each(?) as item`,
        )
        .bind(parameter),
    ),
    ...COPIED.map(table => client.prepare(`${log} ${selectKeys(table)}`)),
    client.prepare(`select (${LAST_LOGGED}) as sequence`),
  ])
  return results.at(-1)?.results[0]?.sequence ?? 0
}

/** The number of the last change that was ever logged. */
const LAST_LOGGED = `select coalesce(max(seq), 0) from sqlite_sequence where name = 'copied_changes'`

/** How far the log of changes goes. */
export interface CopyLog {
  last: number
  /** The number of the first change that isn't in all shards. Null if there is none. */
  firstUncopied: number | null
}

/** Reads how far the log of changes goes. */
export async function findLog({ database }: UnscopedStore): Promise<CopyLog> {
  const [log] = await database.all<CopyLog>(
    sql.raw(`select (${LAST_LOGGED}) as last, (select min(sequence) from copied_changes) as firstUncopied`),
  )
  return log ?? { last: 0, firstUncopied: null }
}

/**
 * The row of `sweeps` in the control database that stores how many shards must have a change before it leaves the log.
 */
const COPIED_SHARDS = 'copied_shards'

/** Keeps changes logged until this many shards have them, even if a Worker still has fewer shards. */
export async function requireCopies({ database }: UnscopedStore, shards: number): Promise<void> {
  await database
    .insert(sweeps)
    .values({ name: COPIED_SHARDS, cursor: String(shards), dueAt: 0 })
    .onConflictDoUpdate({
      target: sweeps.name,
      set: { cursor: String(shards) },
      setWhere: sql`cast(${sweeps.cursor} as integer) < ${shards}`,
    })
}

/**
 * Copies an organization's logged changes to all shards, up to `pages` pages. Returns whether all of them were copied.
 * The changes stay logged until every shard has them.
 */
export async function copyChanges(
  control: Database,
  shards: readonly Database[],
  organizationKey: number,
  pages = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const copied = await Promise.allSettled(shards.map(shard => copyTo(shard, control, organizationKey, pages)))
  const done = copied.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  for (const result of copied) if (result.status === 'rejected') throw result.reason
  const sequence = Math.min(...done.map(each => each.sequence))
  await control.delete(copiedChanges).where(
    sql`${copiedChanges.organizationKey} = ${organizationKey} and ${copiedChanges.sequence} <= ${sequence}
        and not exists (select 1 from ${sweeps}
          where ${sweeps.name} = ${COPIED_SHARDS} and cast(${sweeps.cursor} as integer) > ${shards.length})`,
  )
  return done.every(({ isDone }) => isDone)
}

interface Change {
  sequence: number
  table: string
  row: string
}

async function copyTo(shard: Database, control: Database, organizationKey: number, pages: number) {
  let sequence = await copiedSequence(shard, organizationKey)
  for (let page = 0, losses = 0; page < pages && losses < MAX_CHANGE_ATTEMPTS; page++) {
    const changes = await nextChanges(control, organizationKey, sequence)
    const last = changes.at(-1)
    if (!last) return { sequence, isDone: true }
    const isCopied = await applyRows(shard, organizationKey, sequence, last.sequence, await readRows(control, changes))
    if (!isCopied) losses++
    sequence = isCopied ? last.sequence : await copiedSequence(shard, organizationKey)
  }
  return { sequence, isDone: false }
}

async function copiedSequence(shard: Database, organizationKey: number): Promise<number> {
  const [row] = await shard
    .select({ sequence: copies.sequence })
    .from(copies)
    .where(sql`${copies.organizationKey} = ${organizationKey}`)
  return row?.sequence ?? 0
}

/** The next changes that fit in one copy. */
async function nextChanges(control: Database, organizationKey: number, after: number): Promise<Change[]> {
  const found = await control
    .select({ sequence: copiedChanges.sequence, table: copiedChanges.table, row: copiedChanges.row })
    .from(copiedChanges)
    .where(sql`${copiedChanges.organizationKey} = ${organizationKey} and ${copiedChanges.sequence} > ${after}`)
    .orderBy(copiedChanges.sequence)
    .limit(COPIED_CHANGES)
  // Texts are large, so only a few of them fit.
  let versions = 0
  const end = found.findIndex(({ table }) => table === 'text_versions' && ++versions > COPIED_TEXT_VERSIONS)
  return end === -1 ? found : found.slice(0, end)
}

/** A table's changed rows: the keys of all of them, and the values of those that still exist. */
interface TableRows {
  table: Copied
  keys: string
  values: readonly string[]
}

async function readRows(control: Database, changes: readonly Change[]): Promise<TableRows[]> {
  const changed = COPIED.flatMap(table => {
    const keys = new Set(changes.flatMap(({ table: name, row }) => (name === table.name ? [row] : [])))
    return keys.size === 0 ? [] : [{ table, keys: `[${[...keys].join(',')}]` }]
  })
  const results = await control.$client.batch<{ value: string }>(
    changed.map(({ table, keys }) => {
      const values = table.columns.map(column => `copied."${column}"`).join(', ')
      const isRow = table.key.map((column, place) => `copied."${column}" = item.value ->> ${place}`).join(' and ')
      return control.$client
        .prepare(
          `select json_array(${values}) as value from json_each(?) as item cross join "${table.name}" copied where ${isRow}`,
        )
        .bind(keys)
    }),
  )
  return changed.map((each, index) => ({ ...each, values: (results[index]?.results ?? []).map(({ value }) => value) }))
}

/** Replaces the rows in a shard if its last copy is still `after`. Returns whether they were replaced. */
async function applyRows(
  shard: Database,
  organizationKey: number,
  after: number,
  sequence: number,
  rows: readonly TableRows[],
): Promise<boolean> {
  const { $client: client } = shard
  const isNext = 'coalesce((select sequence from copies where organization_key = ?), 0) = ?'
  const statements = rows.flatMap(({ table, keys, values }) => {
    const key = table.key.map(column => `"${column}"`).join(', ')
    const places = table.key.map((_, place) => `item.value ->> ${place}`).join(', ')
    const columns = table.columns.map(column => `"${column}"`).join(', ')
    const cells = table.columns.map((_, place) => `item.value ->> ${place}`).join(', ')
    return [
      client
        .prepare(
          `delete from "${table.name}" where (${key}) in (select ${places} from json_each(?) as item) and ${isNext}`,
        )
        .bind(keys, organizationKey, after),
      ...parametersOf(values).map(parameter =>
        client
          .prepare(`insert or replace into "${table.name}" (${columns})
            select ${cells} from json_each(?) as item where ${isNext}`)
          .bind(parameter, organizationKey, after),
      ),
    ]
  })
  const moved = client
    .prepare(`insert into copies (organization_key, sequence) select ?, ? where ${isNext}
      on conflict (organization_key) do update set sequence = excluded.sequence`)
    .bind(organizationKey, sequence, organizationKey, after)
  const results = await client.batch([...statements, moved])
  return (results.at(-1)?.meta.changes ?? 0) > 0
}

/** Joins rows into as few parameters as D1's limit allows. */
function parametersOf(values: readonly string[]): string[] {
  const parameters: string[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const value of values) {
    // A character is at most three bytes in UTF-8.
    bytes += 3 * value.length
    if (bytes > MAX_ARRAY_BYTES) {
      parameters.push([])
      bytes = 3 * value.length
    }
    parameters.at(-1)?.push(value)
  }
  return parameters.map(each => `[${each.join(',')}]`)
}

/** The first organizations, starting at a key, with changes that aren't in all shards. Seeks from one to the next. */
export async function listUncopied({ database }: UnscopedStore, limit: number, from = 0): Promise<number[]> {
  const first = (condition: SQL) => sql`select min(organization_key) from ${copiedChanges} where ${condition}`
  const rows = await database.all<{ key: number }>(sql`
    with recursive listed (key) as (
      ${first(sql`organization_key >= ${from}`)} union all
      select (${first(sql`organization_key > listed.key`)}) from listed where listed.key is not null limit ${limit})
    select key from listed where key is not null`)
  return rows.map(({ key }) => key)
}

/*
 * A shard's own row of `sweeps` records that all rows older than the shard have been logged for it. The row contains
 * the number of the last change and the tables' names.
 */
const SEED = 'seed'
const TABLES = COPIED.map(({ name }) => name).join()

/** A shard's size, and whether it has copies of all rows that it needs. */
export interface ShardState {
  bytes: number
  /** The change up to which it must have copies of all rows. Null if the rows haven't been logged for it. */
  seededUntil: number | null
  /** The last change that it has a copy of. */
  copiedUntil: number
}

/** Reads the state of a shard. */
export async function findShardState({ database }: UnscopedStore): Promise<ShardState> {
  const { results, meta } = await database.$client
    .prepare(
      `select (select cursor from sweeps where name = ?) as seed, (select coalesce(max(sequence), 0) from copies) as copied`,
    )
    .bind(SEED)
    .all<{ seed: string | null; copied: number }>()
  const [state] = results
  const [last, tables] = state?.seed?.split(' ') ?? []
  return {
    bytes: meta.size_after,
    seededUntil: tables === TABLES ? Number(last) : null,
    copiedUntil: state?.copied ?? 0,
  }
}

/** Makes cron log all rows for a shard again. */
export const forgetSeed = ({ database }: UnscopedStore) => database.delete(sweeps).where(sql`${sweeps.name} = ${SEED}`)

/** Notes in a shard that all rows have been logged for it, up to a change. */
export const noteSeed = ({ database }: UnscopedStore, last: number) => {
  const cursor = `${last} ${TABLES}`
  return database
    .insert(sweeps)
    .values({ name: SEED, cursor, dueAt: 0 })
    .onConflictDoUpdate({ target: sweeps.name, set: { cursor } })
}
