import { and, asc, eq, getTableColumns, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Attribution, AttributionCost, ErrorCategory, ErrorType } from '../../domain/attribution.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import { attributions } from '../schema/attribution.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive, liveTraceKey } from '../traces/live.ts'
import { countWithin } from '../traces/payloads.ts'
import { errorTypeQueries, toErrorTypes } from './error-types.ts'

/**
 * An error type with its current definition. A type without a definition has only its identifier, which also serves as
 * its name.
 */
interface PastErrorType {
  errorType: string
  id: string | null
  name: string
  category: ErrorCategory | null
}

/** An engine's or a reviewer's verdict on the cause of a disagreement. */
interface PastAttribution {
  /** The id of the engine's answer or of the review. */
  id: string
  type: PastErrorType
  createdAt: number
}

/** An engine's answer. */
export interface EngineAnswer extends PastAttribution, Omit<Attribution, 'errorType'>, AttributionCost {
  kind: 'engine'
  engineVersion: string
}

/** A reviewer's verdict. */
export interface ReviewersAnswer extends PastAttribution {
  kind: 'review'
  spanId: string
  userId: string
  comment: string | null
  /** Whether this is the current decision on its span. */
  isInForce: boolean
}

/** A position in the history, oldest first. A page starts after it. */
export interface AttributionPlace {
  createdAt: number
  id: string
}

/** A page of the history, with the trace's project. */
interface AttributionPage {
  projectKey: number
  items: (EngineAnswer | ReviewersAnswer)[]
  nextPlace: AttributionPlace | null
}

/** Whether a review is the current decision on its span. After a reset, there is none. */
const isInForce = sql`exists (select 1 from ${spans} where ${spans.id} = ${reviews.spanId}
  and ${spans.traceKey} = ${reviews.traceKey} and ${spans.reviewNumber} = ${reviews.number}
  and ${isNotNull(spans.reviewState)})`

/**
 * A page of engines' answers on a live trace and of the reviews that named an error type, oldest first, in one round
 * trip. Undefined if there is no such trace.
 */
export async function listAttributions(
  store: Store,
  traceId: string,
  { limit, after }: { limit: number; after: AttributionPlace | undefined },
): Promise<AttributionPage | undefined> {
  const { database } = store
  const isTrace = isLive(store, eq(traces.id, traceId))
  const isShown = isAnswerShown(store)
  const traceKey = sql`(${liveTraceKey(store, traceId)})`
  const follows = (createdAt: SQLiteColumn, id: SQLiteColumn): SQL | undefined =>
    after && sql`(${createdAt}, ${id}) > (${after.createdAt}, ${after.id})`
  const [[trace], answers, named, ...typeRows] = await database.batch([
    database.select({ projectKey: traces.projectKey }).from(traces).where(isTrace),
    database
      .select()
      .from(attributions)
      .where(
        and(
          eq(attributions.traceKey, traceKey),
          follows(attributions.createdAt, attributions.id),
          isShown && sql`exists (select 1 from ${traces} where ${isTrace} and ${isShown})`,
        ),
      )
      .orderBy(asc(attributions.createdAt), asc(attributions.id))
      .limit(limit + 1),
    database
      .select({ ...reviewColumns, isInForce: sql<number>`${isInForce}`.as('is_in_force') })
      .from(reviews)
      .where(and(eq(reviews.traceKey, traceKey), isNotNull(reviews.errorType), follows(reviews.createdAt, reviews.id)))
      .orderBy(asc(reviews.createdAt), asc(reviews.id))
      .limit(limit + 1),
    ...errorTypeQueries(store, sql`(select ${traces.projectKey} from ${traces} where ${isTrace})`),
  ])
  if (!trace) return undefined
  const types = new Map(toErrorTypes(typeRows).map(type => [type.errorType, type]))
  const items = [
    ...answers.map(answer => toEngineAnswer(answer, types)),
    ...named.map(review => toReviewersAnswer(review, types)),
  ].toSorted((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1))
  const fitting = countWithin(items.map(item => JSON.stringify(item).length))
  const page = items.slice(0, Math.min(limit, fitting))
  const last = page.at(-1)
  return {
    projectKey: trace.projectKey,
    items: page,
    nextPlace: items.length > page.length && last ? { createdAt: last.createdAt, id: last.id } : null,
  }
}

const { id, spanId, userId, comment, createdAt, errorType } = getTableColumns(reviews)
const reviewColumns = { id, spanId, userId, comment, createdAt, errorType }

type TypesByName = ReadonlyMap<string, ErrorType>

const toEngineAnswer = (
  { traceKey, projectKey, number, errorType, alternatives, evidence, ...answer }: typeof attributions.$inferSelect,
  types: TypesByName,
): EngineAnswer => ({
  kind: 'engine',
  ...answer,
  type: described(errorType, types),
  alternatives: [...alternatives],
  evidence: [...evidence],
})

const toReviewersAnswer = (
  {
    errorType,
    isInForce,
    ...review
  }: Pick<typeof reviews.$inferSelect, keyof typeof reviewColumns> & { isInForce: number },
  types: TypesByName,
): ReviewersAnswer => ({
  kind: 'review',
  ...review,
  type: described(errorType, types),
  isInForce: isInForce === 1,
})

/** Types are never deleted, but the history must stay readable even if a row is missing. */
const described = (errorType: string | null, types: TypesByName): PastErrorType =>
  types.get(errorType ?? '') ?? { errorType: errorType ?? '', id: null, name: errorType ?? '', category: null }
