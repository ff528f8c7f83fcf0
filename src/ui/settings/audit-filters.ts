/** The log's filters, which are stored in the URL. */
export interface AuditFilters extends Readonly<Record<string, string | null>> {
  action: string | null
  userId: string | null
  keyId: string | null
  targetId: string | null
  /** ISO 8601, UTC; inclusive. */
  from: string | null
  /** Exclusive. */
  to: string | null
}

const NAMES = ['action', 'userId', 'keyId', 'targetId', 'from', 'to'] as const

/** The filters in a URL. */
export const auditFiltersOf = (parameters: URLSearchParams): AuditFilters => {
  const [action, userId, keyId, targetId, from, to] = NAMES.map(name => parameters.get(name) || null)
  return {
    action: action ?? null,
    userId: userId ?? null,
    keyId: keyId ?? null,
    targetId: targetId ?? null,
    from: from ?? null,
    to: to ?? null,
  }
}

/** No filters. */
export const NO_AUDIT_FILTERS: AuditFilters = {
  action: null,
  userId: null,
  keyId: null,
  targetId: null,
  from: null,
  to: null,
}
