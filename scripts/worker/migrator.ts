/**
 * Migrates the database that a request names, for `npm start`. This takes a single call: outside workerd, each prepared
 * statement would be a separate call. It imports nothing, so it runs as is once its types are stripped.
 */

/** The table in which `wrangler d1 migrations` also records what it has applied. */
const APPLIED = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

interface Order {
  binding: string
  migrations: { name: string; statements: string[] }[]
}

export default {
  /** Responds with the error of the first migration that fails, or with nothing. */
  async fetch(request, databases) {
    const { binding, migrations } = await request.json<Order>()
    const database = databases[binding]
    if (!database) return new Response(`There's no database ${binding}`)
    await database.prepare(APPLIED).run()
    const { results } = await database.prepare('SELECT name FROM d1_migrations').all<{ name: string }>()
    const applied = new Set(results.map(({ name }) => name))
    for (const { name, statements } of migrations) {
      if (applied.has(name)) continue
      const record = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
      try {
        await database.batch([...statements.map(sql => database.prepare(sql)), record])
      } catch (error) {
        return new Response(`${name}: ${error instanceof Error ? error.message : error}`)
      }
    }
    return new Response()
  },
} satisfies ExportedHandler<Record<string, D1Database>>
