import { type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../../domain/metadata.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { hasExistingProject, type Project } from '../accounts/projects.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { traces } from '../schema/traces.ts'

/** A trace's row, with parsed metadata. */
export interface TraceRecord extends TraceState {
  key: number
  id: string
  projectKey: number
  traceId: string
  updatedAt: number
  revision: string
}

/** The fields that the first call to a trace sets permanently, and those that the service adds. */
export interface TraceDraft {
  id: string
  rootSpanId: string
  traceId: string
  name: string
  timestamp: number
  receivedAt: number
}

/** A new trace's encoded row, for `selectNewTraces`. */
export const newTraceRow = ({
  key,
  id,
  traceId,
  state,
  now,
}: Pick<TraceRecord, 'key' | 'id' | 'traceId'> & { state: TraceState; now: number }) =>
  NEW_TRACES.encode({
    ...stateColumns(state),
    key,
    id,
    traceId,
    receivedAt: now,
  })

/** The columns of a state, shared by rows of new traces and of updates. */
export const STATE_COLUMNS = [
  'status',
  'durationMs',
  'metadata',
  'completedFields',
  'rootSpanId',
  'isPosted',
  'derivation',
  'isGeneric',
  'closesAt',
  'name',
  'timestamp',
] as const

export const stateColumns = (state: TraceState) => ({
  status: state.status,
  durationMs: state.durationMs,
  metadata: JSON.stringify(state.metadata),
  completedFields: JSON.stringify(state.completedFields),
  rootSpanId: state.rootSpanId,
  isPosted: Number(state.isPosted),
  derivation: state.derivation && JSON.stringify(state.derivation),
  isGeneric: Number(state.isGeneric),
  closesAt: state.closesAt,
  name: state.name,
  timestamp: state.timestamp,
})

const NEW_TRACES = rowSet(['key', 'id', 'traceId', 'receivedAt', ...STATE_COLUMNS])

/** Selects the rows of new traces, unless the project was deleted. */
export const selectNewTraces = (store: Store, project: Project, rows: string, revision: string): SQL => {
  const { row } = NEW_TRACES
  return selectFor(
    traces,
    {
      ...row,
      organizationKey: store.organization.key,
      projectKey: project.key,
      revision,
      updatedAt: row.receivedAt,
      deletedAt: null,
      purgeDueAt: null,
      needsReview: sql`1 - ${row.isGeneric}`,
      isNegative: 0,
      isUncounted: 0,
      itemsDueAt: null,
    },
    sql`from ${NEW_TRACES.from(rows)} where ${hasExistingProject(store, sql`${project.key}`)}`,
  )
}

/** A trace's new state, computed from an earlier read. */
export interface TraceUpdate {
  from: TraceRecord
  state: TraceState
  added: readonly SearchableField[]
  removed: readonly SearchableField[]
  now: number
}
