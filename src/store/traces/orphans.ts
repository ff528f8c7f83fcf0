import { and, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { ORPHAN_AGE_MS, ORPHAN_FOLDERS, ORPHAN_PAGE, ORPHAN_PASS_MS } from '../../limits.ts'
import { organizationColumns } from '../accounts/organizations.ts'
import { withRetry } from '../core/deadline.ts'
import { isOneOf, rowSet, valuesOf } from '../core/rows.ts'
import { epochsIn, type UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { organizations } from '../schema/accounts.ts'
import { datasetEntries, datasets } from '../schema/datasets.ts'
import { experimentResults } from '../schema/experiments.ts'
import { reviews, suggestions, votes } from '../schema/reviews.ts'
import { isNotRoot, observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/**
 * Continues a pass over all R2 objects, one page at a time. Deletes objects that are over 24 hours old and that no row
 * refers to. (No request takes that long to store its rows.) Returns how many objects it deleted.
 */
export async function sweepOrphans(unscoped: UnscopedStore, now: number): Promise<number> {
  const { payloads, deadline } = unscoped
  const startAfter = await findDuePass(unscoped, 'orphans', now)
  if (startAfter === undefined) return 0
  const page = await withRetry(deadline, () => payloads.list({ limit: ORPHAN_PAGE, ...(startAfter && { startAfter }) }))
  const old = page.objects.filter(({ uploaded }) => uploaded.getTime() < now - ORPHAN_AGE_MS)
  const ours = old.flatMap(({ key }) => partsOf(key))
  const named = await findReferencedObjects(unscoped, ours)
  const orphans = ours.filter(({ folder, name }) => !named.has(`${folder}/${name}`)).map(({ key }) => key)
  if (orphans.length > 0) await withRetry(deadline, () => payloads.delete(orphans))
  const cursor = (page.truncated && page.objects.at(-1)?.key) || ''
  await savePass(unscoped, 'orphans', { cursor, dueAt: cursor ? now : now + ORPHAN_PASS_MS })
  return orphans.length
}

/** The parts of an object's key. */
interface StoredObject {
  key: string
  organizationId: string
  folder: string
  name: string
}

/**
 * Parses an object's key, `<organization>/<folder>/<name>`. A folder belongs to a trace, an imported example, or an
 * experiment's result. Ignores other objects in the bucket, which aren't ours.
 */
function partsOf(key: string): StoredObject[] {
  const [, organizationId, folder, name] =
    /^([0-9a-f-]{36})\/(\d+|(?:imports|experiments)\/\d+\/[0-9a-f-]{36})\/([0-9a-f-]{36})$/.exec(key) ?? []
  return organizationId && folder && name ? [{ key, organizationId, folder, name }] : []
}

/** The objects among these that rows refer to, as `<folder>/<name>`. */
async function findReferencedObjects(
  unscoped: UnscopedStore,
  objects: readonly StoredObject[],
): Promise<ReadonlySet<string>> {
  const named = new Set<string>()
  const isUsed = await usedDatabases(unscoped, objects)
  for (const store of unscoped.shards) {
    // Only rows that belong to traces are outside the control database.
    const isHere = (object: StoredObject) => (object.folder.includes('/') ? store.shard === 0 : isUsed(object, store))
    await addReferencedObjects(store, [...new Set(objects.filter(isHere).map(({ folder }) => folder))], named)
  }
  return named
}

/** Returns a function that tells whether a database may have traces of an object's organization. */
async function usedDatabases(
  { shards, control }: UnscopedStore,
  objects: readonly StoredObject[],
): Promise<(object: StoredObject, store: UnscopedStore) => boolean> {
  if (shards.length === 1 || objects.length === 0) return () => true
  const ids = new Set(objects.map(({ organizationId }) => organizationId))
  const owners = await control.database
    .select({ id: organizations.id, epochs: organizationColumns.epochs })
    .from(organizations)
    .where(isOneOf(organizations.id, [...ids]))
  const used = new Map(
    owners.map(owner => [owner.id, new Set(epochsIn(owner).flatMap(epochs => epochs.flatMap(epoch => epoch.shards)))]),
  )
  return ({ organizationId }, { shard }) => used.get(organizationId)?.has(shard) ?? true
}

/** Adds the objects in these folders that a database's rows refer to, as `<folder>/<name>`. */
async function addReferencedObjects(
  unscoped: UnscopedStore,
  folders: readonly string[],
  named: Set<string>,
): Promise<void> {
  for (let start = 0; start < folders.length; start += ORPHAN_FOLDERS) {
    const some = folders.slice(start, start + ORPHAN_FOLDERS)
    const imported = some.filter(folder => folder.startsWith('imports/'))
    const results = some.filter(folder => folder.startsWith('experiments/'))
    const traceKeys = some.filter(folder => !folder.includes('/')).map(Number)
    if (traceKeys.length > 0) await addObjectsOfTraces(unscoped, traceKeys, named)
    if (imported.length > 0) await addObjectsOfImports(unscoped, imported, named)
    if (results.length > 0) await addObjectsOfResults(unscoped, results, named)
  }
}

/** Adds the objects that these traces' rows refer to. */
async function addObjectsOfTraces(
  { database }: UnscopedStore,
  traceKeys: readonly number[],
  named: Set<string>,
): Promise<void> {
  const keys = valuesOf(traceKeys)
  const spanRefs = {
    input: nameIn(spans.traceKey, spans.inputRef),
    output: nameIn(spans.traceKey, spans.outputRef),
    state: nameIn(spans.traceKey, spans.stateRef),
  }
  const [observed, approved, suggested, voted, given, givenToRoots, frozen] = await database.batch([
    database
      .selectDistinct({ name: nameIn(observations.traceKey, observations.dataRef) })
      .from(observations)
      .where(and(sql`${observations.traceKey} in ${keys}`, isNotNull(observations.dataRef))),
    database
      .selectDistinct({ name: nameIn(reviews.traceKey, reviews.approvedRef) })
      .from(reviews)
      .where(and(sql`${reviews.traceKey} in ${keys}`, isNotNull(reviews.approvedRef))),
    database
      .selectDistinct({ name: nameIn(suggestions.traceKey, suggestions.approvedRef) })
      .from(suggestions)
      .where(and(sql`${suggestions.traceKey} in ${keys}`, isNotNull(suggestions.approvedRef))),
    database
      .selectDistinct({ name: nameIn(votes.traceKey, votes.approvedRef) })
      .from(votes)
      .where(and(sql`${votes.traceKey} in ${keys}`, isNotNull(votes.approvedRef))),
    database
      .select(spanRefs)
      .from(spans)
      .where(and(sql`${spans.traceKey} in ${keys}`, isNotRoot, hasRef)),
    database
      .select(spanRefs)
      .from(spans)
      .where(
        and(
          sql`(${spans.id}, ${spans.traceKey}) in (
            select ${traces.rootSpanId}, ${traces.key} from ${traces} where ${traces.key} in ${keys})`,
          hasRef,
        ),
      ),
    database
      .selectDistinct({ traceKey: sql<number>`entry.trace_key`, objects: sql<string>`entry.objects` })
      .from(traces)
      .crossJoin(datasets)
      .crossJoin(sql`${datasetEntries} as entry`)
      .where(
        sql`${traces.key} in ${keys} and ${datasets.projectKey} = ${traces.projectKey}
          and entry.project_key = ${datasets.projectKey} and entry.step_id = ${datasets.stepId}
          and entry.trace_key = ${traces.key} and entry.objects is not null`,
      ),
  ])
  for (const { traceKey, objects } of frozen) {
    for (const name of parseNames(objects)) named.add(`${traceKey}/${name}`)
  }
  for (const { name } of [...observed, ...approved, ...suggested, ...voted]) named.add(name ?? '')
  for (const { input, output, state } of [...given, ...givenToRoots]) {
    named
      .add(input ?? '')
      .add(output ?? '')
      .add(state ?? '')
  }
}

/** Adds the objects that imported examples refer to. `folders` are `imports/<project key>/<item>`. */
async function addObjectsOfImports(
  { database }: UnscopedStore,
  folders: readonly string[],
  named: Set<string>,
): Promise<void> {
  const { row } = IMPORTS
  const items = folders.map(folder => {
    const [, projectKey = '', itemId = ''] = folder.split('/')
    return { folder, projectKey: Number(projectKey), itemId }
  })
  const frozen = await database
    .selectDistinct({ folder: sql<string>`${row.folder}`, objects: sql<string>`${datasetEntries.objects}` })
    .from(IMPORTS.from(IMPORTS.encodeAll(items)))
    .crossJoin(datasets)
    .crossJoin(datasetEntries)
    .where(
      sql`${datasets.projectKey} = ${row.projectKey} and ${datasetEntries.projectKey} = ${datasets.projectKey}
        and ${datasetEntries.stepId} = ${datasets.stepId} and ${datasetEntries.traceKey} = 0
        and ${datasetEntries.itemId} = ${row.itemId} and ${datasetEntries.objects} is not null`,
    )
  for (const { folder, objects } of frozen) {
    for (const name of parseNames(objects)) named.add(`${folder}/${name}`)
  }
}

const IMPORTS = rowSet(['folder', 'projectKey', 'itemId'])

/** Adds the objects that experiments' results refer to. `folders` are `experiments/<experiment key>/<item>`. */
async function addObjectsOfResults(
  { database }: UnscopedStore,
  folders: readonly string[],
  named: Set<string>,
): Promise<void> {
  const { row } = RESULTS
  const items = folders.map(folder => {
    const [, experimentKey = '', itemId = ''] = folder.split('/')
    return { folder, experimentKey: Number(experimentKey), itemId }
  })
  const referenced = await database
    .select({ folder: sql<string>`${row.folder}`, name: nameOf(experimentResults.outputRef) })
    .from(RESULTS.from(RESULTS.encodeAll(items)))
    .crossJoin(experimentResults)
    .where(
      sql`${experimentResults.experimentKey} = ${row.experimentKey} and ${experimentResults.itemId} = ${row.itemId}
        and ${experimentResults.outputRef} is not null`,
    )
  for (const { folder, name } of referenced) named.add(`${folder}/${name}`)
}

const RESULTS = rowSet(['folder', 'experimentKey', 'itemId'])

/** The names in `dataset_entries.objects`. */
const parseNames = (objects: string): readonly string[] => JSON.parse(objects)

const hasRef: SQL = sql`coalesce(${spans.inputRef}, ${spans.outputRef}, ${spans.stateRef}) is not null`

/** The object that a reference points to, as `<trace key>/<name>`. */
const nameIn = (traceKey: SQLiteColumn, ref: SQLiteColumn) =>
  sql<string | null>`${traceKey} || '/' || ${nameOf(ref)}`.as(`named_by_${ref.name}`)

/** The name of the object that a reference points to. */
const nameOf = (ref: SQLiteColumn) => sql<string | null>`substr(${ref}, 1, instr(${ref}, ':') - 1)`
