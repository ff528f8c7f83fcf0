import { type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../../domain/metadata.ts'
import { endsAt, parseEpochs } from '../../domain/shards.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '../../limits.ts'
import { hasExistingProject, type PlacedProject, requireExisting } from '../accounts/projects.ts'
import { CLOCK, EpochBegins } from '../core/epochs.ts'
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
  endsAt,
}: Pick<TraceRecord, 'key' | 'id' | 'traceId'> & { state: TraceState; now: number; endsAt: number | null }) =>
  NEW_TRACES.encode({
    ...stateColumns(state),
    key,
    id,
    traceId,
    receivedAt: now,
    endsAt,
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

const NEW_TRACES = rowSet(['key', 'id', 'traceId', 'receivedAt', 'endsAt', ...STATE_COLUMNS])

/** When the store's database must stop creating a project's trace, as explained in `domain/shards.ts`. */
export const endOfCreation = ({ shard }: Store, { epochs }: PlacedProject, id: string): number | null =>
  epochs === null ? null : endsAt(id, parseEpochs(epochs), shard, Date.now())

/** Throws if traces can't be created: a 404 if the project was deleted, or a 503 if an epoch is just beginning. */
export async function requireCreatable(store: Store, project: PlacedProject, ids: readonly string[]): Promise<void> {
  await requireExisting(store, project)
  const latest = Date.now() + MAX_CLOCK_DIFFERENCE_MS
  if (ids.some(id => (endOfCreation(store, project, id) ?? latest) < latest)) throw new EpochBegins()
}

/**
 * Selects the rows of new traces, unless the project was deleted. Leaves out traces that now belong to another
 * database, so that no trace is in two databases.
 */
export const selectNewTraces = (store: Store, project: PlacedProject, rows: string, revision: string): SQL => {
  const { row } = NEW_TRACES
  const isOurs = project.epochs === null ? sql`1` : sql`(${row.endsAt} is null or ${CLOCK} < ${row.endsAt})`
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
    sql`from ${NEW_TRACES.from(rows)} where ${hasExistingProject(store, sql`${project.key}`)} and ${isOurs}`,
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
