import { env } from 'cloudflare:workers'

/**
 * Applies all migrations to an empty database. A single batch takes a tenth of the time that many batches would take.
 */
export const migrate = (database: D1Database) =>
  database.batch(env.MIGRATIONS.flatMap(({ queries }) => queries.map(query => database.prepare(query))))
