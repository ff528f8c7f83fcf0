import type { D1Migration } from 'cloudflare:test'
import type { Env } from '../../src/env.ts'

declare global {
  namespace Cloudflare {
    interface Env extends WorkerEnv {
      MIGRATIONS: D1Migration[]
    }
  }
}
type WorkerEnv = Env
