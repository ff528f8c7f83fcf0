import { desc, eq, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { canonicalJson } from '../../domain/json.ts'
import type { Precedent } from '../../domain/subject.ts'
import { MAX_PRECEDENT_REVIEWS, MAX_PRECEDENTS } from '../../limits.ts'
import { inShard, readPlaced, readShards } from '../core/across.ts'
import { named, readPlain } from '../core/database.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { foldSpans } from '../spans/fold-spans.ts'
import { type SpanDetail, showSpans } from '../spans/span-detail.ts'
import { lastDecisions, observationFields, spanFields } from '../spans/span-fields.ts'
import { isLive } from '../traces/live.ts'
import type { FoundValue } from '../traces/payloads.ts'
import { SPAN_PLACES } from '../traces/roots.ts'

/** A reviewed span in another trace, with that trace's input. */
interface Compared {
  detail: SpanDetail
  rootInput: string
}

/** A query for a project's last decisions in one database, newest first. */
export const selectReviewed = (store: Store, projectKey: number | SQL) =>
  store.database
    .select(reviewedFields(store))
    .from(reviews)
    .where(eq(reviews.projectKey, projectKey))
    .orderBy(desc(reviews.createdAt))
    .limit(MAX_PRECEDENT_REVIEWS)

/**
 * A decision and its span. `stepId` is null if another decision has replaced this one, and `rootSpanId` is null if the
 * trace is gone. Column names include their tables, because drizzle drops the table's name from a selection of one
 * table.
 */
const reviewedFields = ({ organization }: Store) => ({
  ...named({ traceKey: reviews.traceKey, spanId: reviews.spanId, createdAt: reviews.createdAt }),
  stepId: sql<string | null>`(select ${readStepId(sql`reviews.project_key`, sql`decided.step_id`)} from ${spans} decided
    where decided.id = reviews.span_id and decided.trace_key = reviews.trace_key
      and decided.review_number = reviews.number and decided.review_state is not null)`.as('stepId'),
  rootSpanId: sql<string | null>`(select past.root_span_id from ${traces} past
    where past.key = reviews.trace_key and past.deleted_at is null
      and past.organization_key = ${organization.key})`.as('rootSpanId'),
})

type ReviewedRow = SelectResultFields<ReturnType<typeof reviewedFields>>

/** The parts of a trace's overview that are about the trace itself and its project's decisions. */
interface Disputed {
  trace: { key: number; projectKey: number }
  /** The project's last decisions in the trace's database, newest first. */
  reviewed: readonly ReviewedRow[]
}

/**
 * Reads the project's latest decisions on spans of these steps in other traces, from all databases, newest first. Reads
 * only decisions whose inputs and approved outputs are stored in their rows. Adds a note to `omitted` if a database
 * doesn't respond.
 */
export async function readComparable(
  store: Store,
  { trace, reviewed }: Disputed,
  stepIds: ReadonlySet<string | null>,
  omitted: string[],
): Promise<Compared[]> {
  const others = store.shards.filter(({ shard }) => shard !== store.shard)
  const elsewhere = await readShards(
    store,
    async other => {
      const [rows] = await readPlain(other.database, [selectReviewed(other, trace.projectKey)])
      return inShard(other, rows)
    },
    others,
  )
  const candidates = [inShard(store, reviewed), ...elsewhere]
    .flat()
    .toSorted((one, other) => other.createdAt - one.createdAt)
    .slice(0, MAX_PRECEDENT_REVIEWS)
    .filter(row => row.traceKey !== trace.key && row.rootSpanId !== null && row.stepId !== null)
    .filter(({ stepId }) => stepIds.has(stepId))
    .slice(0, MAX_PRECEDENTS)
  const detailOf = new Map((await readPlaced(store, candidates, readDetails)).flat())
  const silent = store.missing.size
  if (silent > 0)
    omitted.push(`earlier decisions in ${silent} of ${store.shards.length} databases, which didn't respond`)
  return candidates.flatMap(({ traceKey, spanId, rootSpanId }) => {
    const detail = detailOf.get(`${traceKey}/${spanId}`)
    const root = detailOf.get(`${traceKey}/${rootSpanId}`)
    return detail?.review && root ? [{ detail, rootInput: root.input.text }] : []
  })
}

/** Reads decided spans and their root spans from one database, by trace key and span id. */
async function readDetails(store: Store, reviewed: readonly ReviewedRow[]): Promise<(readonly [string, SpanDetail])[]> {
  const { database } = store
  const places = reviewed.flatMap(({ traceKey, spanId, rootSpanId }) => [
    { id: spanId, traceKey },
    { id: rootSpanId, traceKey },
  ])
  const past = SPAN_PLACES.from(SPAN_PLACES.encodeAll(places))
  const { row } = SPAN_PLACES
  const isPast = sql`(${spans.id}, ${spans.traceKey}) in (select ${row.id}, ${row.traceKey} from ${past})`
  const rootOf = sql`(select ${traces.rootSpanId} from ${traces} where ${traces.key} = ${observations.traceKey})`
  const [traceRows, spanRows, inputs, decisions] = await readPlain(database, [
    database
      .select({
        key: sql<number>`${traces.key}`.as('key'),
        rootSpanId: sql<string>`${traces.rootSpanId}`.as('rootSpanId'),
        isPosted: sql<number>`${traces.isPosted}`.as('isPosted'),
      })
      .from(traces)
      .where(isLive(store, sql`${traces.key} in (select ${row.traceKey} from ${past})`)),
    database.select(spanFields).from(spans).where(isPast),
    database
      .select(observationFields())
      .from(observations)
      .where(
        sql`${observations.traceKey} in (select ${row.traceKey} from ${past})
          and ${observations.type} = 'input'
          and (${observations.traceKey}, coalesce(${observations.spanId}, ${rootOf})) in (
            select ${row.traceKey}, ${row.id} from ${past})`,
      ),
    lastDecisions(store, isPast),
  ])
  const isInline = (value: FoundValue | undefined) => !value || (value.ref === null && !value.isCut)
  const inline = foldSpans({ traces: traceRows, spans: spanRows, observations: inputs, decisions })
    .filter(({ inputs, approved }) => [...inputs, approved].every(isInline))
    .map(span => ({ ...span, output: undefined, state: [] }))
  const shown = (await showSpans(store, inline, 'full')) ?? []
  return shown.map((detail, index) => [`${inline[index]?.row.traceKey}/${detail.id}`, detail])
}

/**
 * Returns a function that compares two strings of JSON by value. It parses each string only once, because every step is
 * compared with every decision.
 */
export function createJsonComparer(): (left: string, right: string) => boolean {
  const known = new Map<string, string>()
  const canonical = (text: string) => {
    const value = known.get(text) ?? canonicalJson(JSON.parse(text))
    known.set(text, value)
    return value
  }
  return (left, right) => left === right || (left.length === right.length && canonical(left) === canonical(right))
}

/** The decisions on spans of the same step with the same input, in traces with the same input. */
export function findPrecedents(
  step: SpanDetail,
  root: SpanDetail,
  compared: readonly Compared[],
  isSame: ReturnType<typeof createJsonComparer>,
): Precedent[] {
  // If there's no input, nothing shows that two cases are the same.
  if (step.input.text === 'null' && root.input.text === 'null') return []
  return compared.flatMap(({ detail, rootInput }) => {
    const isEqualCase =
      detail.stepId === step.stepId && isSame(detail.input.text, step.input.text) && isSame(rootInput, root.input.text)
    if (!isEqualCase || !detail.review) return []
    const { state, userId } = detail.review
    return [{ spanId: detail.id, state, approvedOutput: JSON.parse(detail.approvedOutput.text), userId }]
  })
}
