import { env } from 'cloudflare:workers'

/** The number of rows in each table and of objects in R2, which a rejected request must not change. */
export async function storedCounts(): Promise<Record<string, number>> {
  const { results } = await env.DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like '%\\_cf\\_%' escape '\\' and name not like 'sqlite%'",
  ).all<{ name: string }>()
  const counts = await env.DB.batch<{ rows: number }>(
    results.map(({ name }) => env.DB.prepare(`select count(*) as rows from "${name}"`)),
  )
  const tables = results.map(({ name }, index) => [name, counts[index]?.results[0]?.rows ?? 0] as const)
  return { ...Object.fromEntries(tables), objects: (await env.PAYLOADS.list()).objects.length }
}
