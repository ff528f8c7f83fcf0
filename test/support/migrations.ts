import { env } from 'cloudflare:workers'

/** Applies all migrations to an empty database, in one batch because that takes a tenth of the time of many batches. */
export const migrate = (database: D1Database) =>
  database.batch(env.MIGRATIONS.flatMap(({ queries }) => queries.map(query => database.prepare(query))))
