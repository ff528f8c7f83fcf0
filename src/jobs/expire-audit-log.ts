import type { Env } from '../env.ts'
import { AUDIT_RETENTION_DAYS, AUDIT_SWEEP_ROWS, DAY_MS } from '../limits.ts'
import { deleteOldEntries } from '../store/accounts/audit.ts'
import type { UnscopedStore } from '../store/core/store.ts'

/** Deletes some of the audit log's expired entries. */
export async function expireAuditLog(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  await deleteOldEntries(unscoped, { now, before: now - retentionDays(env) * DAY_MS, limit: AUDIT_SWEEP_ROWS })
}

/** Invalid values fall back to the default, so that they can't empty the log or overflow a time. */
function retentionDays({ AUDIT_RETENTION_DAYS: configured }: Env): number {
  const days = Number(configured)
  return days >= 1 && Number.isFinite(days) ? days : AUDIT_RETENTION_DAYS
}
