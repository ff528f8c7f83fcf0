import { env } from 'cloudflare:workers'
import { stored } from './database.ts'

/** The columns of each table. */
export async function columnsOfTables(): Promise<Map<string, string[]>> {
  const { results } = await stored
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

/** The number of rows in each table and of objects in R2, which a rejected request must not change. */
export async function storedCounts(): Promise<Record<string, number>> {
  const tables = [...(await columnsOfTables()).keys()]
  // A batch with a statement for each table takes twice as long.
  const counted = tables.map(name => `(select count(*) from "${name}") as "${name}"`).join(', ')
  const rows = await stored.prepare(`select ${counted}`).first<Record<string, number>>()
  return { ...rows, objects: (await env.PAYLOADS.list()).objects.length }
}
