import { env } from 'cloudflare:workers'

/** Applies all migrations to an empty database. One batch takes a tenth of the time of one for each migration. */
export const migrate = (database: D1Database) =>
  database.batch(env.MIGRATIONS.flatMap(({ queries }) => queries.map(query => database.prepare(query))))
