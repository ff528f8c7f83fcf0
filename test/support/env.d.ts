import type { D1Migration } from 'cloudflare:test'
import type { Env } from '../../src/env.ts'

declare global {
  namespace Cloudflare {
    interface Env extends WorkerEnv {
      MIGRATIONS: D1Migration[]
      /** Settings for test/fuzz. Empty by default. */
      FUZZ_SECONDS: string
      FUZZ_SEED: string
      /**
       * If this isn't empty, test/endpoints/faults.test.ts tries every fault at every call, not just a fifth of these
       * cases.
       */
      ALL_FAULTS: string
      /** The databases that test/support/replicas.ts uses as replicas of DB, DB_1, and so on. */
      REPLICA: D1Database
      [replica: `REPLICA_${number}`]: D1Database | undefined
      /** If this isn't empty, each test file runs with replicas that are this many transactions behind. */
      REPLICA_LAG: string
    }
  }
}
type WorkerEnv = Env
