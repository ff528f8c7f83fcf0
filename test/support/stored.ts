import { env } from 'cloudflare:workers'
import { boundShards, databaseOf } from '../../src/store/core/store.ts'

const databases = [env.DB, ...boundShards(env).map(shard => databaseOf(env, shard))]

/** The columns of each table in all databases. */
export async function columnsOfTables(): Promise<Map<string, string[]>> {
  return new Map((await Promise.all(databases.map(columnsIn))).flatMap(columns => [...columns]))
}

/** The columns of each table in a database. */
export async function columnsIn(database: D1Database): Promise<Map<string, string[]>> {
  const { results } = await database
    .prepare(
      `select "table".name as "table", "column".name as "column"
     from sqlite_master as "table", pragma_table_info("table".name) as "column"
     where "table".type = 'table' and "table".name not like '%\\_cf\\_%' escape '\\' and "table".name not like 'sqlite%'`,
    )
    .all<{ table: string; column: string }>()
  const columns = new Map<string, string[]>()
  for (const { table, column } of results) columns.set(table, [...(columns.get(table) ?? []), column])
  return columns
}

/** The number of rows in each table, and the number of objects in R2. A rejected request must not change them. */
export async function storedCounts(): Promise<Record<string, number>> {
  const counts: Record<string, number> = { objects: (await env.PAYLOADS.list()).objects.length }
  for (const database of databases) {
    const tables = [...(await columnsIn(database)).keys()]
    // A batch with a statement for each table would take twice as long.
    const counted = tables.map(name => `(select count(*) from "${name}") as "${name}"`).join(', ')
    const rows = await database.prepare(`select ${counted}`).first<Record<string, number>>()
    for (const [table, count] of Object.entries(rows ?? {})) counts[table] = (counts[table] ?? 0) + count
  }
  return counts
}
