import type { RateLimiter } from './rate-limit/limiter.ts'
import type { StoreBindings } from './store/core/store.ts'

/** What the queue carries: a hint that names its subject. The truth about what is to be done lies in D1. */
export type Job =
  | { kind: 'purge_trace'; organizationKey: number; traceKey: number }
  | { kind: 'attribute_trace'; organizationKey: number; traceKey: number }
  | { kind: 'purge_project'; organizationKey: number; projectKey: number }
  | { kind: 'forget_user'; organizationKey: number; userId: string }

/** Every binding and variable of the Worker, as wrangler.toml declares them. */
export interface Env extends StoreBindings {
  /** The pages of `src/ui`. Files that exist are served before the Worker is asked. */
  ASSETS?: Fetcher
  RATE_LIMITER: DurableObjectNamespace<RateLimiter>
  /** Absent on a deployment without queues; cron then does the work. */
  JOBS?: Queue<Job>
  /** Sent to by the platform alone; bound so that a deploy creates it. */
  DEAD_JOBS?: Queue<Job>
  /** Secret. Creates organizations and recovers a lost key; with none set, those endpoints answer 404. */
  ADMIN_TOKEN?: string
  /** Requests per minute of a key that has no limit of its own; DEFAULT_RATE_LIMIT_PER_MINUTE where unset. */
  RATE_LIMIT_PER_MINUTE?: string
  /** `<team>.cloudflareaccess.com`, before which Cloudflare Access stands: with ACCESS_AUD, who it lets in is let in here. */
  ACCESS_TEAM_DOMAIN?: string
  /** The audience tag of the deployment's application in Access. */
  ACCESS_AUD?: string
  /** What those may do, words of `SCOPES`; `read review` where unset. */
  ACCESS_SCOPES?: string
  /** How long the audit log keeps an entry; the constant AUDIT_RETENTION_DAYS where unset. */
  AUDIT_RETENTION_DAYS?: string
  /** `<provider>/<model>`: who attributes instead of the rules. `attribution/provider.ts` names the providers. */
  ATTRIBUTION_MODEL?: string
  /** Where the provider is asked, if not at its own address. */
  ATTRIBUTION_BASE_URL?: string
  /** Secret. The provider's key. */
  ATTRIBUTION_API_KEY?: string
  /** US dollars that a million tokens of a question and of an answer cost; unset, no result tells what it cost. */
  ATTRIBUTION_INPUT_PRICE?: string
  ATTRIBUTION_OUTPUT_PRICE?: string
  /** Calls of a model for a project on a day (UTC), over all uses; the constant MODEL_DAILY_LIMIT where unset. */
  MODEL_DAILY_LIMIT?: string
  /** Workers AI: bound by `npm run deploy -- --workers-ai` alone, for an account without it could not deploy. */
  AI?: Ai
}

/** What a request runs in. */
export interface Runtime {
  env: Env
  waitUntil: (promise: Promise<unknown>) => void
  requestId: string
  /** Where the request comes from, as `addressOf` groups it. */
  address: string
}
