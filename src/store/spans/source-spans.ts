import { and, sql } from 'drizzle-orm'
import { MAX_SOURCE_CANDIDATES } from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isNotRoot, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { locatedSpans } from './located-rows.ts'

/** A span that may contain an output's sources. */
interface SourceCandidate {
  id: string
  stepId: string
  parentId: string | null
  /** Whether it prepares other steps' inputs, as retrievers do. */
  isSupporting: number
}

/** A span's place in its trace, and the spans that began before it ended. */
export interface SourceOutline {
  traceKey: number
  rootSpanId: string
  parentId: string | null
  /** Latest first. The root isn't among them. */
  candidates: SourceCandidate[]
  /** Whether the list is complete. */
  isComplete: boolean
}

/**
 * The maximum number of candidates in a response. The nearest ones are the most likely sources, and those farther away
 * are rarely read.
 */
const MAX_LISTED = 1_000

/** Finds the spans that a span's output may be based on, without reading their values. Takes one round trip. */
export async function findSourceCandidates(store: Store, spanId: string): Promise<SourceOutline | undefined> {
  const { database } = store
  const located = locatedSpans(store, [spanId])
  const ownKey = sql`(select located.trace_key from ${located} as located)`
  const own = sql`${spans.id} = ${spanId} and ${spans.traceKey} = ${ownKey}`
  // A root's descendants all come before its output.
  const end = sql`(select iif(${spans.isRoot} = 1, 9e15, ${spans.timestamp} + coalesce(${spans.durationMs}, 0))
    from ${spans} where ${own})`
  const few = sql`(select ${spans.id} as id, ${spans.stepId} as step_id, ${spans.parentId} as parent_id,
      ${spans.isSupporting} as is_supporting, ${spans.timestamp} as timestamp
    from ${spans} where ${and(sql`${spans.traceKey} = ${ownKey}`, isNotRoot)}
    limit ${sql.raw(String(MAX_SOURCE_CANDIDATES + 1))})`
  const scanned = sql`(select *, count(*) over () > ${sql.raw(String(MAX_SOURCE_CANDIDATES))} as is_cut from ${few})`
  const [[place], candidates] = await readPlain(database, [
    database
      .select({
        ...named({ traceKey: traces.key, rootSpanId: traces.rootSpanId }),
        parentId: sql<string | null>`(select ${spans.parentId} from ${spans} where ${own})`.as('parentId'),
      })
      .from(traces)
      .where(sql`${traces.key} = ${ownKey}`),
    database
      .select({
        id: sql<string>`scanned.id`.as('id'),
        stepId: readStepId(
          sql`(select own.project_key from ${traces} own where own.key = ${ownKey})`,
          sql`scanned.step_id`,
        ).as('stepId'),
        parentId: sql<string | null>`scanned.parent_id`.as('parentId'),
        isSupporting: sql<number>`scanned.is_supporting`.as('isSupporting'),
        isCut: sql<number>`scanned.is_cut or count(*) over () > ${sql.raw(String(MAX_LISTED))}`.as('isCut'),
      })
      .from(sql`${scanned} as scanned`)
      .where(sql`scanned.id <> ${spanId} and scanned.timestamp <= ${end}`)
      .orderBy(sql`scanned.timestamp desc, scanned.id desc`)
      .limit(MAX_LISTED),
  ])
  if (!place) return undefined
  return { ...place, candidates, isComplete: candidates[0]?.isCut !== 1 }
}
