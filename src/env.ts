import type { ModelJobKind } from './domain/model-job.ts'
import type { RateLimiter } from './rate-limit/limiter.ts'
import type { StoreBindings } from './store/core/store.ts'

/** A queue message. It's only a hint that identifies its subject. The work itself is recorded in D1. */
export type Job = {
  /** The number of the database that has the work. Default: 0, which is DB. */
  shard?: number
} & (
  | { kind: 'purge_trace'; organizationKey: number; traceKey: number }
  | { kind: 'attribute_trace'; organizationKey: number; traceKey: number }
  | { kind: 'purge_project'; organizationKey: number; projectKey: number }
  | { kind: 'settle_items'; organizationKey: number; traceKey: number }
  | { kind: 'forget_user'; organizationKey: number; userId: string }
  | { kind: 'model_job'; organizationKey: number; jobKind: ModelJobKind; subject: string }
  | { kind: 'send_events'; organizationKey: number; projectKey: number | null }
)

/** The field that tells a job its database. */
export const inShard = (shard: number): { shard?: number } => (shard === 0 ? {} : { shard })

/** Every binding and variable of the Worker, as wrangler.toml declares them. */
export interface Env extends StoreBindings {
  /** The pages of `src/ui`. The platform serves existing files before it runs the Worker. */
  ASSETS?: Fetcher
  RATE_LIMITER: DurableObjectNamespace<RateLimiter>
  /** Absent on a deployment without queues, where cron does the work. */
  JOBS?: Queue<Job>
  /** The queue of jobs that wait for webhooks' receivers. Without it, such jobs use JOBS. */
  EVENTS?: Queue<Job>
  /** Only the platform sends to this queue. The binding exists so that a deploy creates the queue. */
  DEAD_JOBS?: Queue<Job>
  /** Secret. Creates organizations and recovers lost keys. Without it, the endpoints that do so return 404. */
  ADMIN_TOKEN?: string
  /** Secret. Encrypts the URLs and secrets of webhooks. Without it, their endpoints return 409. */
  WEBHOOK_KEY?: string
  /** `1` lets webhooks send to http and local addresses, for tests with `npm start`. */
  ALLOW_LOCAL_WEBHOOKS?: string
  /** `on` lets GETs read from D1's replicas. They must also be enabled in the database's settings. */
  READ_REPLICATION?: string
  /** Requests per minute for a key without its own limit. Default: DEFAULT_RATE_LIMIT_PER_MINUTE. */
  RATE_LIMIT_PER_MINUTE?: string
  /** `<team>.cloudflareaccess.com`. Set it with ACCESS_AUD to trust Cloudflare Access sign-ins. */
  ACCESS_TEAM_DOMAIN?: string
  /** The audience tag of this deployment's Access application. */
  ACCESS_AUD?: string
  /** What Access users may do: names from `SCOPES`, separated by spaces. Default: `read review`. */
  ACCESS_SCOPES?: string
  /** How many days the audit log keeps an entry. Default: the constant AUDIT_RETENTION_DAYS. */
  AUDIT_RETENTION_DAYS?: string
  /**
   * `<provider>/<model>`: the model to use instead of the rules, or instead of Workers AI's model if Workers AI is
   * bound. `model/provider.ts` lists the providers.
   */
  ATTRIBUTION_MODEL?: string
  /** The provider's URL, if not the default one. */
  ATTRIBUTION_BASE_URL?: string
  /** Secret. The provider's API key. */
  ATTRIBUTION_API_KEY?: string
  /** US dollars per million input and output tokens. If unset, results have no cost. */
  ATTRIBUTION_INPUT_PRICE?: string
  ATTRIBUTION_OUTPUT_PRICE?: string
  /** Model calls per project per day (UTC), for all uses. Default: the constant MODEL_DAILY_LIMIT. */
  MODEL_DAILY_LIMIT?: string
  /** Workers AI. A deploy binds it only on request, so that accounts without Workers AI can deploy. */
  AI?: Ai
}

/** The environment of one request. */
export interface Runtime {
  env: Env
  waitUntil: (promise: Promise<unknown>) => void
  requestId: string
  /** The client's address, as `addressOf` groups it. */
  address: string
}
