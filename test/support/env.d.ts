import type { D1Migration } from 'cloudflare:test'
import type { Env } from '../../src/env.ts'

declare global {
  namespace Cloudflare {
    interface Env extends WorkerEnv {
      MIGRATIONS: D1Migration[]
      /** What test/fuzz was asked for; empty where nothing was. */
      FUZZ_SECONDS: string
      FUZZ_SEED: string
      /** Whether test/endpoints/faults.test.ts tries all faults at all calls; empty where it tries a third. */
      ALL_FAULTS: string
    }
  }
}
type WorkerEnv = Env
