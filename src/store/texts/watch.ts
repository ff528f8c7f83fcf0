import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm'
import {
  type Acceptance,
  type Finding,
  findingOf,
  type LookCounts,
  MAX_WATCHED,
  nextLook,
  WATCH_LOOKS,
  type WatchedSide,
  type WatchState,
} from '../../domain/watch.ts'
import { FOLLOWED_PROMPTS, SCANNED_TEXTS, WATCHES_AT_ONCE } from '../../limits.ts'
import { hasExistingProject } from '../accounts/projects.ts'
import { placeOrder } from '../core/across.ts'
import { named, readPlain } from '../core/database.ts'
import { epochsOf } from '../core/epochs.ts'
import { sentEventsOf } from '../core/outbox.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Organization, Store, UnscopedStore } from '../core/store.ts'
import {
  type DecisionPlace,
  type FirstDecisions,
  firstDecisions,
  type WatchedDecisions,
} from '../reviews/first-decisions.ts'
import { organizations } from '../schema/accounts.ts'
import { textActivations, textVersions, versionedTexts, watchLooks } from '../schema/texts.ts'

/*
 * Compares a prompt's active version with the previous one. The watch counts only people's first decisions on spans
 * that used one of these versions. It doesn't count imported decisions, or decisions that are reset by the next
 * decision on the span.
 */

/** The result of a look. Later deletions don't change it. */
export interface WatchLook extends LookCounts, Finding {
  /** The number of decisions on the new version that the look counts. */
  look: number
  /** The time of the last of these decisions. */
  at: number
  /** How many decisions name each error type. */
  errorTypes: ReadonlyMap<string, { before: number; after: number }>
}

/** How a prompt's active version compares with the previously active one. */
export interface Watch {
  promptId: string
  /** When the version became active. */
  activatedAt: number
  versionId: string
  versionNumber: number
  previousVersionId: string
  previousVersionNumber: number
  state: WatchState
  p: number | null
  interval: Finding['interval']
  /** The figures at the latest look or, before the first look, the current figures. */
  before: Acceptance
  after: Acceptance
  /** The number of decisions on the active version so far, up to the number that the final look counts. */
  decided: number
  /** The number of decisions at the next look. Null after the final look. */
  nextLook: number | null
  /** The looks reached so far, in order. */
  looks: readonly WatchLook[]
  /** The look at the other version that made the service reactivate this version. Null if none did. */
  rolledBack: WatchLook | null
  /** The activation's keys, for writes. */
  place: WatchPlace
}

interface WatchPlace {
  textKey: number
  projectKey: number
  versionKey: number
  previousVersionKey: number
}

/** Which watches to read: those of these prompts, or of the prompts whose active version is one of these versions. */
export type Watched = { promptIds: readonly string[] } | { versionIds: readonly string[] }

/** Reads a prompt's watch. Undefined if no other version was active before the current one. */
export async function readWatch(store: Store, promptId: string): Promise<Watch | undefined> {
  return (await readWatches(store, { promptIds: [promptId] })).get(promptId)
}

/**
 * Reads prompts' watches by prompt id, in one round trip, or two if there are several databases. If a watch has reached
 * a look that isn't stored, first stores that look's result.
 */
export async function readWatches(store: Store, watched: Watched): Promise<Map<string, Watch>> {
  const watches = await selectWatches(store, watched)
  const due = [...watches.values()].filter(watch => dueLooks(watch).length > 0)
  if (due.length === 0) return watches
  for (let start = 0; start < due.length; start += WATCHES_AT_ONCE) {
    await takeLooks(store, due.slice(start, start + WATCHES_AT_ONCE))
  }
  return selectWatches(store, watched)
}

/** The decisions that a prompt's watch counts on one of its versions. Undefined if the project has no such watch. */
export async function findWatchedDecisions(
  store: Store,
  projectKey: number,
  promptId: string,
  side: WatchedSide,
): Promise<WatchedDecisions | undefined> {
  const watch = await readWatch(store, promptId)
  if (watch?.place.projectKey !== projectKey) return undefined
  const to = watch.looks.at(-1)?.at
  const counted = watch[side]
  const decisions: WatchedDecisions =
    side === 'before'
      ? { versionId: watch.previousVersionId, projectKey, to, order: 'newest', counted }
      : {
          versionId: watch.versionId,
          projectKey,
          from: watch.activatedAt,
          to,
          order: 'oldest',
          limit: to && counted.n,
          counted,
        }
  if (store.shards.length === 1) return decisions
  const { limit = MAX_WATCHED } = decisions
  const [found = []] = await readDecisions(store, [decisions])
  const last = found[limit - 1]
  return { ...decisions, last: last && placeOf(last) }
}

/** The looks that were reached but aren't stored yet. */
const dueLooks = ({ decided, looks }: Watch): number[] =>
  WATCH_LOOKS.filter(look => look <= decided && !looks.some(taken => taken.look === look))

async function selectWatches(store: Store, of: Watched): Promise<Map<string, Watch>> {
  const { control, databases } = store
  const { database } = control
  const watched = activations(control, of)
  const isCountedHere = databases.length === 1
  const [rows, looks] = await readPlain(database, [
    database
      .select({
        promptId: sql<string>`watched.prompt_id`.as('promptId'),
        textKey: sql<number>`watched.text_key`.as('textKey'),
        projectKey: sql<number>`watched.project_key`.as('projectKey'),
        activatedAt: sql<number>`watched.activated_at`.as('activatedAt'),
        versionKey: sql<number>`watched.version_key`.as('versionKey'),
        versionId: sql<string>`watched.version_id`.as('versionId'),
        versionNumber: sql<number>`watched.version_number`.as('versionNumber'),
        previousVersionKey: sql<number>`watched.previous_version_key`.as('previousVersionKey'),
        previousVersionId: sql<string>`watched.previous_version_id`.as('previousVersionId'),
        previousVersionNumber: sql<number>`watched.previous_version_number`.as('previousVersionNumber'),
        before: sql<string | null>`${isCountedHere ? before(countOf) : sql`null`}`.as('before'),
        after: sql<string | null>`${isCountedHere ? after(countOf) : sql`null`}`.as('after'),
      })
      .from(watched),
    database
      .select({
        promptId: sql<string>`watched.prompt_id`.as('promptId'),
        ...named({
          look: watchLooks.look,
          at: watchLooks.lookedAt,
          accepted: watchLooks.accepted,
          decidedBefore: watchLooks.decidedBefore,
          acceptedBefore: watchLooks.acceptedBefore,
        }),
        isOwn: sql<number>`${watchLooks.activatedAt} = watched.activated_at`.as('isOwn'),
        errorTypes: sql<string>`${watchLooks.errorTypes}`.as('errorTypes'),
      })
      .from(watched)
      .crossJoin(watchLooks)
      .where(
        sql`${watchLooks.textKey} = watched.text_key
          and (${watchLooks.activatedAt} = watched.activated_at or ${watchLooks.rolledBackAt} = watched.activated_at)`,
      ),
  ])
  const counts = isCountedHere ? undefined : await countInShards(store, of)
  const looksOf = Map.groupBy(looks, ({ promptId }) => promptId)
  return new Map(
    rows.map(row => [row.promptId, toWatch({ ...row, ...counts?.get(row.promptId) }, looksOf.get(row.promptId) ?? [])]),
  )
}

/**
 * What to read from a watch's decisions on each version. Once a look is stored, it has the figures for the previous
 * version, so that version's decisions aren't read.
 */
const before = (read: (decisions: SQL) => SQL): SQL => sql`iif(
  exists (select 1 from ${watchLooks} where ${watchLooks.textKey} = watched.text_key
    and ${watchLooks.activatedAt} = watched.activated_at),
  null, ${read(firstDecisions({ versionId: sql`watched.previous_version_id`, projectKey: sql`watched.project_key`, order: 'newest' }))})`
const after = (read: (decisions: SQL) => SQL): SQL =>
  read(
    firstDecisions({
      versionId: sql`watched.version_id`,
      projectKey: sql`watched.project_key`,
      from: sql`watched.activated_at`,
      order: 'oldest',
    }),
  )

/** Counts watches' decisions in several databases, by prompt id. */
async function countInShards(
  { shards }: Store,
  of: Watched,
): Promise<Map<string, Record<'before' | 'after', string | null>>> {
  const found = await Promise.all(
    shards.map(shard =>
      readPlain(shard.database, [
        shard.database
          .select({
            promptId: sql<string>`watched.prompt_id`.as('promptId'),
            before: sql<string | null>`${before(listOf)}`.as('before'),
            after: sql<string | null>`${after(listOf)}`.as('after'),
          })
          .from(activations(shard, of)),
      ]),
    ),
  )
  const rows = Map.groupBy(found.flat(2), ({ promptId }) => promptId)
  const count = (lists: readonly (string | null)[], order: 'oldest' | 'newest') => {
    const decisions = lists.flatMap((list): [...DecisionPlace, isAccepted: number][] => JSON.parse(list ?? '[]'))
    const counted = firstIn(decisions, ([at, traceKey, spanId]) => [at, traceKey, spanId], order)
    return JSON.stringify([counted.length, counted.filter(([, , , isAccepted]) => isAccepted === 1).length])
  }
  return new Map(
    [...rows].map(([promptId, ofPrompt]) => [
      promptId,
      {
        before: count(
          ofPrompt.map(row => row.before),
          'newest',
        ),
        after: count(
          ofPrompt.map(row => row.after),
          'oldest',
        ),
      },
    ]),
  )
}

/** Sorts decisions from several databases, and returns those that a watch counts. */
function firstIn<Decision>(
  decisions: readonly Decision[],
  placeOf: (decision: Decision) => DecisionPlace,
  order: FirstDecisions['order'],
): Decision[] {
  const compare = placeOrder(order === 'oldest' ? 'ascending' : 'descending')
  return decisions.toSorted((one, other) => compare(placeOf(one), placeOf(other))).slice(0, MAX_WATCHED)
}

interface WatchRow extends WatchPlace {
  promptId: string
  activatedAt: number
  versionId: string
  versionNumber: number
  previousVersionId: string
  previousVersionNumber: number
  /** `[n, accepted]` as JSON. */
  before: string | null
  after: string | null
}

function toWatch(
  { before, after, textKey, projectKey, versionKey, previousVersionKey, ...row }: WatchRow,
  lookRows: readonly LookRow[],
): Watch {
  const looks = lookRows
    .filter(({ isOwn }) => isOwn)
    .map(toLook)
    .sort((left, right) => left.look - right.look)
  const other = lookRows.find(({ isOwn }) => !isOwn)
  const soFar = toAcceptance(after)
  const last = looks.at(-1)
  return {
    ...row,
    state: last?.state ?? 'too_early',
    p: last?.p ?? null,
    interval: last?.interval ?? null,
    before: last?.before ?? toAcceptance(before),
    after: last?.after ?? soFar,
    decided: Math.max(soFar.n, last?.look ?? 0),
    nextLook: nextLook(Math.max(soFar.n, last?.look ?? 0)) ?? null,
    looks,
    rolledBack: other ? toLook(other) : null,
    place: { textKey, projectKey, versionKey, previousVersionKey },
  }
}

function toAcceptance(counted: string | null): Acceptance {
  const [n, accepted]: [number, number] = counted === null ? [0, 0] : JSON.parse(counted)
  return { n, accepted }
}

interface LookRow {
  look: number
  at: number
  accepted: number
  decidedBefore: number
  acceptedBefore: number
  errorTypes: string
  /** Whether the look belongs to this watch rather than to the other version's watch. */
  isOwn: number
}

function toLook({ look, at, accepted, decidedBefore, acceptedBefore, errorTypes }: LookRow): WatchLook {
  const counts = { before: { n: decidedBefore, accepted: acceptedBefore }, after: { n: look, accepted } }
  const types: [string, number, number][] = JSON.parse(errorTypes)
  return {
    look,
    at,
    ...counts,
    ...findingOf(counts),
    errorTypes: new Map(types.map(([type, before, after]) => [type, { before, after }])),
  }
}

/** The latest activations of prompts that had another active version before, under the alias `watched`. */
const activations = (store: Store, watched: Watched): SQL => sql`(
  select prompt.id as prompt_id, prompt.key as text_key, prompt.project_key, live.activated_at,
    version.key as version_key, version.id as version_id, ${numberOf('version')} as version_number,
    former.key as previous_version_key, former.id as previous_version_id, ${numberOf('former')} as previous_version_number
  from ${promptsOf(watched)} cross join ${textActivations} as live cross join ${textVersions} as version
    cross join ${textActivations} as past cross join ${textVersions} as former
  where prompt.kind = 'prompt' and prompt.organization_key = ${store.organization.key}
    and ${hasExistingProject(store, sql`prompt.project_key`)}
    and live.text_key = prompt.key and live.activated_at = (
      select max(latest.activated_at) from ${textActivations} as latest where latest.text_key = prompt.key)
    and version.key = live.version_key and version.is_active = 1
    and past.text_key = prompt.key and past.activated_at = (
      select max(earlier.activated_at) from ${textActivations} as earlier
      where earlier.text_key = prompt.key and earlier.activated_at < live.activated_at)
    and former.key = past.version_key) as watched`

/** The rows of prompts, under the alias `prompt`. */
const promptsOf = (watched: Watched): SQL =>
  'promptIds' in watched
    ? sql`json_each(${JSON.stringify(watched.promptIds)}) as item
      inner join ${versionedTexts} as prompt on prompt.id = item.value`
    : sql`json_each(${JSON.stringify(watched.versionIds)}) as item
      inner join ${textVersions} as named on named.id = item.value and named.is_active = 1
      inner join ${versionedTexts} as prompt on prompt.key = named.text_key`

/** Like `versionNumber`, but for a table alias. */
const numberOf = (alias: 'version' | 'former'): SQL => {
  const version = sql.raw(alias)
  return sql`coalesce(${version}.number, (
    select count(*) from ${textVersions} as older where older.text_key = ${version}.text_key and older.key <= ${version}.key))`
}

/** `[n, accepted]` as JSON. */
const countOf = (decisions: SQL): SQL =>
  sql`(select json_array(count(*), coalesce(sum(scanned.state = 'accepted'), 0)) from ${decisions} as scanned)`

/** Each decision's place and whether it accepts the output, as JSON. */
const listOf = (decisions: SQL): SQL =>
  sql`(select json_group_array(json_array(
    scanned.created_at, scanned.trace_key, scanned.span_id, scanned.state = 'accepted')) from ${decisions} as scanned)`

const LOOKS = rowSet([
  'textKey',
  'activatedAt',
  'versionKey',
  'look',
  'lookedAt',
  'accepted',
  'decidedBefore',
  'acceptedBefore',
  'errorTypes',
])

/**
 * Stores the looks that watches have reached. If several requests do this at the same time, the first one's rows stay.
 * All of them read the same decisions anyway.
 */
async function takeLooks(store: Store, watches: readonly Watch[]): Promise<void> {
  const decisions = await readDecisions(
    store,
    watches.map(({ versionId, activatedAt, place: { projectKey } }) => ({
      versionId,
      projectKey,
      from: activatedAt,
      order: 'oldest',
    })),
  )
  const due = watches.flatMap((watch, index) =>
    dueLooks(watch).flatMap(look => {
      const counted = decisions[index]?.slice(0, look) ?? []
      const lookedAt = counted.at(-1)?.at
      // Some decisions may have been deleted since they were counted.
      return counted.length < look || lookedAt === undefined ? [] : [{ watch, look, counted, lookedAt }]
    }),
  )
  if (due.length === 0) return
  const earlier = await readDecisions(
    store,
    due.map(({ watch: { previousVersionId, place }, lookedAt }) => ({
      versionId: previousVersionId,
      projectKey: place.projectKey,
      to: lookedAt,
      order: 'newest',
    })),
  )
  const rows = due.map(({ watch: { activatedAt, place }, look, counted, lookedAt }, index) => {
    const former = earlier[index] ?? []
    const types = new Map<string, [before: number, after: number]>()
    for (const [decided, place] of [[former, 0] as const, [counted, 1] as const]) {
      for (const { errorType } of decided) {
        if (errorType === null) continue
        const counts: [number, number] = types.get(errorType) ?? [0, 0]
        counts[place]++
        types.set(errorType, counts)
      }
    }
    return {
      textKey: place.textKey,
      activatedAt,
      versionKey: place.versionKey,
      look,
      lookedAt,
      accepted: counted.filter(isAccepted).length,
      decidedBefore: former.length,
      acceptedBefore: former.filter(isAccepted).length,
      errorTypes: JSON.stringify([...types].map(([type, counts]) => [type, ...counts])),
    }
  })
  const { row } = LOOKS
  await store.control.database
    .insert(watchLooks)
    .select(
      selectFor(
        watchLooks,
        { ...row, rolledBackAt: null },
        // Store no rows for a text that was deleted in the meantime, because another text may get its key.
        sql`from ${LOOKS.from(LOOKS.encodeAll(rows))} cross join ${textActivations}
          where ${and(
            eq(textActivations.textKey, sql`${row.textKey}`),
            eq(textActivations.activatedAt, sql`${row.activatedAt}`),
            eq(textActivations.versionKey, sql`${row.versionKey}`),
          )}`,
      ),
    )
    .onConflictDoNothing()
}

/** A decision that a watch counts. */
interface Decision {
  at: number
  traceKey: number
  spanId: string
  state: string
  errorType: string | null
}

const placeOf = ({ at, traceKey, spanId }: Decision): DecisionPlace => [at, traceKey, spanId]

const isAccepted = ({ state }: Decision): boolean => state === 'accepted'

/** Reads several lists of first decisions, each in order, in one round trip. */
async function readDecisions({ shards }: Store, lists: readonly FirstDecisions[]): Promise<Decision[][]> {
  const found = await Promise.all(
    shards.map(({ database }) =>
      readPlain(
        database,
        lists.map(list =>
          database
            .select({
              at: sql<number>`scanned.created_at`.as('at'),
              traceKey: sql<number>`scanned.trace_key`.as('traceKey'),
              spanId: sql<string>`scanned.span_id`.as('spanId'),
              state: sql<string>`scanned.state`.as('state'),
              errorType: sql<string | null>`scanned.error_type`.as('errorType'),
            })
            .from(sql`${firstDecisions(list)} as scanned`),
        ),
      ),
    ),
  )
  return lists.map(({ order }, index) =>
    firstIn(
      found.flatMap(rows => rows[index] ?? []),
      placeOf,
      order,
    ),
  )
}

/**
 * Searches the deployment's next `SCANNED_TEXTS` texts, after the one with this key, for prompts that may have a watch.
 * Also returns the key to continue after, or null at the end.
 */
export async function listWatchedPrompts(
  { database }: UnscopedStore,
  afterKey: number,
): Promise<{ prompts: { id: string; organization: Organization }[]; nextKey: number | null }> {
  const wasReplaced = sql`(select count(*) from (
    select 1 from ${textActivations} where ${textActivations.textKey} = ${versionedTexts.key} limit 2)) = 2`
  const rows = await database
    .select({
      key: sql<number>`${versionedTexts.key}`.as('text_key'),
      id: sql<string>`${versionedTexts.id}`.as('text_id'),
      organizationKey: sql<number>`${organizations.key}`.as('organization_key'),
      organizationId: sql<string>`${organizations.id}`.as('organization_id'),
      slug: organizations.slug,
      sentEvents: sentEventsOf(organizations.key),
      epochs: epochsOf(organizations.key).as('organization_epochs'),
      mayBeWatched: sql<number>`(${versionedTexts.kind} = 'prompt' and ${wasReplaced})`.as('may_be_watched'),
    })
    .from(versionedTexts)
    .innerJoin(organizations, eq(organizations.key, versionedTexts.organizationKey))
    .where(gt(versionedTexts.key, afterKey))
    .orderBy(asc(versionedTexts.key))
    .limit(SCANNED_TEXTS)
  const watched = rows.filter(({ mayBeWatched }) => mayBeWatched === 1)
  const prompts = watched.slice(0, FOLLOWED_PROMPTS)
  const isCut = prompts.length < watched.length
  const lastKey = (isCut ? prompts : rows).at(-1)?.key ?? null
  return {
    prompts: prompts.map(({ id, organizationKey, organizationId, slug, sentEvents, epochs }) => ({
      id,
      organization: { key: organizationKey, id: organizationId, slug, sentEvents, epochs },
    })),
    nextKey: isCut || rows.length === SCANNED_TEXTS ? lastKey : null,
  }
}
