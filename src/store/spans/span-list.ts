import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { SpanReviewFilter } from '../../domain/review-state.ts'
import type { PayloadMode } from '../../domain/span.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, inShard, mergePages, type ReadAcross, readShards, showPlaced } from '../core/across.ts'
import { type Assignee, isAssignedTo } from '../core/assignees.ts'
import { readPlain } from '../core/database.ts'
import { hasOutput, isReviewable, isReviewed, isUnreviewedStep } from '../core/reviewable.ts'
import { isOneOf } from '../core/rows.ts'
import { waitsFor } from '../core/standing-votes.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { isLeftOut, isOpenForReview, traces } from '../schema/traces.ts'
import { inProject, matches, positionIs } from '../traces/trace-filter.ts'
import { findSpans, type LocatedSpan } from './located-spans.ts'
import { shownLength, showShared } from './shared-review.ts'
import {
  endOf,
  type ListedPlace,
  mergeScans,
  placesIn,
  type SpanPlace,
  scanForSpans,
  spanOrder,
} from './spans-in-traces.ts'

/** A filter on spans as they are now. */
export interface SpanFilter {
  /** The step, by its old or new name. */
  stepId?: string | undefined
  /** Any of these. '' means spans without a prompt version. */
  promptVersionIds?: readonly string[] | undefined
  model?: string | undefined
  review?: SpanReviewFilter | undefined
  hasOutput?: boolean | undefined
  /** Only outputs that people review, by the definition that insights use. */
  reviewable?: true | undefined
  /**
   * If this is a user, only spans that are assigned to them and are waiting for their review. If it's null, only
   * unassigned spans that are waiting for review.
   */
  assignee?: Assignee | undefined
  /** The time of the span's trace, inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
  /** `all` includes traces that have only generic spans, which aren't steps of an AI pipeline. */
  kind?: 'all' | undefined
}

/**
 * A page of a project's spans, sorted by their traces, newest first. A trace's spans stay together, in the order in
 * which the trace lists them. Takes two round trips (or one or two more if the page has roots), and R2 reads for large
 * values. Scans at most 5,000 traces in each database, so `spans` may be short even if more spans follow.
 */
export async function listSpans(
  store: Store,
  project: Project,
  filter: SpanFilter,
  { limit, after, mode }: { limit: number; after: SpanPlace | undefined; mode: PayloadMode },
): Promise<{ spans: LocatedSpan[]; nextPlace: SpanPlace | null }> {
  const { places, nextPlace } = await findPlacesAcross(store, project, filter, { limit, after })
  const { shown, count } = await showPlaces(store, places, mode)
  const last = count < places.length ? places[count - 1] : undefined
  return { spans: shown.map(each => each.shown), nextPlace: last ?? nextPlace }
}

/** Finds the positions of the spans on a page in every database, without reading their values. */
export async function findPlacesAcross(
  store: Store,
  project: Project,
  filter: SpanFilter,
  query: { limit: number; after: SpanPlace | undefined },
  across: ReadAcross = readShards,
): Promise<{ places: InShard<ListedPlace>[]; nextPlace: SpanPlace | null }> {
  const pages = await across(store, async shard => {
    const { places, hasMore, end } = await findPlaces(shard, project, filter, query)
    return { items: inShard(shard, places), nextPlace: (hasMore ? places.at(-1) : end) ?? null }
  })
  const order = { limit: query.limit, placeOf: (place: SpanPlace) => place, compare: spanOrder(true) }
  const { items, nextPlace } = mergePages(pages, order)
  return { places: items, nextPlace }
}

/** The positions of a project's spans on a page. */
interface FoundPlaces {
  places: ListedPlace[]
  /** Whether the scan found more spans than the page has. */
  hasMore: boolean
  /** Where the scan ended, for when `hasMore` is false. Undefined if there are no more traces. */
  end: SpanPlace | undefined
}

/** Finds the positions of the spans on a page in one database, without reading their values. */
export async function findPlaces(
  store: Store,
  project: Project,
  filter: SpanFilter,
  { limit, after }: { limit: number; after: SpanPlace | undefined },
): Promise<FoundPlaces> {
  const { from, to, kind, stepId, promptVersionIds, assignee } = filter
  const position = after && { timestamp: after.at, id: after.traceUuid }
  const isWaiting = filter.review === 'unreviewed' || filter.review === 'waiting' || assignee === null
  const scans = (isWaiting ? [isOpenForReview, isLeftOut] : [undefined]).map(sought => {
    const scan = inProject(
      store,
      project,
      { from, to, assigneeId: assignee ?? undefined, fields: [] },
      sought,
      time => position && positionIs(time, '<=', position),
    )
    return scanForSpans(store, {
      ...scan,
      by: scan.time,
      order: sql`${desc(scan.time)}, ${desc(traces.id)}`,
      isTrace: matches(store, project, { kind, fields: [] }),
      isSpan: and(
        matchesNow(filter),
        // A blind reviewer must not see someone else's vote.
        assignee && (!store.isBlind || assignee === store.viewerId) ? waitsFor(assignee) : undefined,
        stepId === undefined ? undefined : isStep(project.key, spans.stepId, stepId),
        promptVersionIds && isOneOf(sql`coalesce(${spans.promptVersionId}, '')`, promptVersionIds),
      ),
      limit,
      after,
    })
  })
  const scanned = mergeScans(await readPlain(store.database, scans), true)
  const places = placesIn(scanned)
  return { places: places.slice(0, limit), hasMore: places.length > limit, end: endOf(scanned) }
}

/** Shows as many spans with their values as fit on a page, and returns how many of the places they cover. */
export const showPlaces = <Place extends InShard<SpanPlace>>(
  store: Store,
  places: readonly Place[],
  mode: PayloadMode,
  across: ReadAcross = readShards,
) =>
  showPlaced<Place, LocatedSpan>(
    store,
    places,
    (shard, own, maxBytes) => showIn(shard, own, mode, maxBytes),
    shownLength,
    across,
  )

async function showIn<Place extends SpanPlace>(
  store: Store,
  places: readonly Place[],
  mode: PayloadMode,
  maxBytes: number,
): Promise<{ shown: Map<Place, LocatedSpan>; count: number }> {
  const ids = places.map(({ spanId }) => spanId)
  const { found, count } = await findSpans(store, ids, mode, maxBytes)
  const items = places.slice(0, count).flatMap((place, index) => {
    const span = found.get(place.spanId)
    // Another trace's root may have taken the id.
    return span?.trace.id === place.traceUuid ? [{ place, span, index }] : []
  })
  const page = await showShared(
    store,
    items.map(({ span }) => span),
    mode,
    maxBytes,
  )
  const spanOf = new Map(page.shown.map(span => [span.id, span]))
  const shown = items.slice(0, page.count).flatMap(({ place }) => {
    const span = spanOf.get(place.spanId)
    return span ? [[place, span] as const] : []
  })
  return { shown: new Map(shown), count: items[page.count]?.index ?? count }
}

/** The filter's conditions on the current rows of `spans` and `traces`, except for the step and the prompt version. */
export const matchesNow = ({ model, review, hasOutput: isOutput, reviewable, assignee }: SpanFilter): SQL | undefined =>
  and(
    model === undefined ? undefined : eq(spans.model, model),
    review && REVIEWED[review],
    isOutput === undefined ? undefined : sql`${hasOutput} = ${isOutput ? 1 : 0}`,
    reviewable && sql`(${isReviewable} and ${hasOutput})`,
    assignee === undefined ? undefined : sql`(${isUnreviewedStep} and ${isAssignedTo(assignee)})`,
  )

const REVIEWED: Record<SpanReviewFilter, SQL | undefined> = {
  unreviewed: and(isUnreviewedStep, isNull(spans.reviewState)),
  accepted: and(isReviewed, eq(spans.reviewState, 'accepted')),
  corrected: and(isReviewed, eq(spans.reviewState, 'corrected')),
  stale: and(sql`${spans.reviewState} is not null`, eq(spans.isStale, true)),
  reviewed: isReviewed,
  waiting: isUnreviewedStep,
}
