import { and, asc, gt, isNull, sql } from 'drizzle-orm'
import { citedDoc } from '../../domain/attribution.ts'
import { BACKFILLED_CASES } from '../../limits.ts'
import { isOneOf, rowSet } from '../core/rows.ts'
import type { UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { projects } from '../schema/accounts.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { reviews } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'
import { updateCases } from './problem-cases.ts'

const DOCS = rowSet(['traceKey', 'number', 'docSlug'])

/**
 * Adds the cases of traces that were reviewed or attributed before the service kept cases. Processes a limited number
 * of traces per minute, and does nothing once all traces have been processed.
 */
export async function backfillCases(unscoped: UnscopedStore, now: number): Promise<void> {
  const { database } = unscoped
  const cursor = await findDuePass(unscoped, 'cases', now)
  if (cursor === undefined) return
  const [reviewed, attributed] = await database.batch([
    database
      .selectDistinct({ traceKey: reviews.traceKey })
      .from(reviews)
      .where(gt(reviews.traceKey, Number(cursor)))
      .orderBy(asc(reviews.traceKey))
      .limit(BACKFILLED_CASES),
    database
      .select({ traceKey: attributionJobs.traceKey })
      .from(attributionJobs)
      .where(gt(attributionJobs.traceKey, Number(cursor)))
      .orderBy(asc(attributionJobs.traceKey))
      .limit(BACKFILLED_CASES),
  ])
  const found = new Set([...reviewed, ...attributed].map(({ traceKey }) => traceKey))
  const keys = [...found].toSorted((left, right) => left - right).slice(0, BACKFILLED_CASES)
  if (keys.length > 0) await updateTraces(unscoped, keys)
  const isDone = keys.length < BACKFILLED_CASES
  await savePass(unscoped, 'cases', { cursor: String(keys.at(-1) ?? 0), dueAt: isDone ? NEVER : now })
}

const NEVER = Number.MAX_SAFE_INTEGER

async function updateTraces(unscoped: UnscopedStore, keys: readonly number[]): Promise<void> {
  const { database } = unscoped
  const answers = await database
    .select({
      traceKey: attributions.traceKey,
      number: attributions.number,
      docSlug: attributions.docSlug,
      evidence: attributions.evidence,
    })
    .from(attributions)
    .where(and(isOneOf(attributions.traceKey, keys), isNull(attributions.docSlug)))
  const cited = answers.flatMap(({ evidence, ...answer }) => {
    const docSlug = citedDoc(evidence)
    return docSlug === null ? [] : [{ ...answer, docSlug }]
  })
  const { row } = DOCS
  const ofTraces = and(
    isOneOf(traces.key, keys),
    isNull(traces.deletedAt),
    sql`exists (select 1 from ${projects} where ${projects.key} = ${traces.projectKey} and ${projects.deletedAt} is null)`,
  )
  await database.batch([
    database
      .update(attributions)
      .set({ docSlug: row.docSlug })
      .from(DOCS.from(DOCS.encodeAll(cited)))
      .where(sql`${attributions.traceKey} = ${row.traceKey} and ${attributions.number} = ${row.number}`),
    ...updateCases(unscoped, ofTraces),
  ])
}
