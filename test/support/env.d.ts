import type { D1Migration } from 'cloudflare:test'
import type { Env } from '../../src/env.ts'

declare global {
  namespace Cloudflare {
    interface Env extends WorkerEnv {
      MIGRATIONS: D1Migration[]
      /** Settings for test/fuzz. Empty by default. */
      FUZZ_SECONDS: string
      FUZZ_SEED: string
      /** If not empty, test/endpoints/faults.test.ts tries all faults at all calls instead of a fifth of them. */
      ALL_FAULTS: string
      /** The databases that test/support/replicas.ts uses as replicas of DB, DB_1, and so on. */
      REPLICA: D1Database
      [replica: `REPLICA_${number}`]: D1Database | undefined
      /** If not empty, each file runs with a replica that is this many transactions behind. */
      REPLICA_LAG: string
    }
  }
}
type WorkerEnv = Env
