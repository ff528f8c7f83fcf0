import { and, desc, eq, inArray, isNull, sql } from 'drizzle-orm'
import { readShards } from '../core/across.ts'
import { isOneOf } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import { versionNumber } from '../insights/version-number.ts'
import { promptSuggestionExamples, promptSuggestions } from '../schema/prompt-suggestions.ts'
import { textVersions } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { isFor, type OfProblem, type StoredChange, type SuggestionExample } from './suggestion-requests.ts'

/** A version that a model wrote, as long as its prompt exists. */
export interface SuggestionRecord {
  promptId: string
  versionId: string
  /** The version's number. */
  number: number
  isActive: boolean
  baseVersionId: string
  model: string
  answeredAt: number
  changes: StoredChange[]
  /** Null if an example has been deleted. */
  reasons: string[] | null
  examples: (Omit<SuggestionExample, 'traceKey'> & { traceId: string })[]
}

/** Finds the latest version that was suggested for a problem, or the version with the given id. */
export async function findSuggestion(
  store: Store,
  problem: OfProblem,
  versionId: string | undefined,
): Promise<SuggestionRecord | undefined> {
  const { database } = store.control
  // After a step is renamed, its problems have different ids.
  const isWanted =
    versionId === undefined
      ? isFor(problem)
      : and(eq(promptSuggestions.versionId, versionId), eq(promptSuggestions.projectKey, problem.projectKey))
  const chosen = database
    .select({ id: promptSuggestions.versionId })
    .from(promptSuggestions)
    .innerJoin(textVersions, eq(textVersions.id, promptSuggestions.versionId))
    .where(isWanted)
    .orderBy(desc(promptSuggestions.requestedAt))
    .limit(1)
  const [[row], places] = await database.batch([
    database
      .select({
        promptId: promptSuggestions.promptId,
        versionId: promptSuggestions.versionId,
        number: sql<number>`${versionNumber}`.as('number'),
        isActive: textVersions.isActive,
        baseVersionId: promptSuggestions.baseVersionId,
        model: promptSuggestions.model,
        answeredAt: promptSuggestions.answeredAt,
        changes: promptSuggestions.changes,
        reasons: promptSuggestions.reasons,
      })
      .from(promptSuggestions)
      .innerJoin(textVersions, eq(textVersions.id, promptSuggestions.versionId))
      .where(inArray(promptSuggestions.versionId, chosen)),
    database
      .select({
        spanId: promptSuggestionExamples.spanId,
        traceKey: promptSuggestionExamples.traceKey,
        serves: promptSuggestionExamples.serves,
        copied: promptSuggestionExamples.copied,
      })
      .from(promptSuggestionExamples)
      .where(inArray(promptSuggestionExamples.versionId, chosen)),
  ])
  if (!row || row.baseVersionId === null || row.model === null || row.answeredAt === null) return undefined
  const { baseVersionId, model, answeredAt, changes, reasons, ...version } = row
  const traceIds = await findShownTraces(
    store,
    places.map(({ traceKey }) => traceKey),
  )
  return {
    ...version,
    baseVersionId,
    model,
    answeredAt,
    changes: JSON.parse(changes ?? '[]'),
    reasons: reasons === null ? null : JSON.parse(reasons),
    examples: places.flatMap(({ spanId, traceKey, serves, copied }) => {
      const traceId = traceIds.get(traceKey)
      return traceId === undefined ? [] : [{ spanId, traceId, serves: JSON.parse(serves), copied: JSON.parse(copied) }]
    }),
  }
}

/** The ids of the traces whose answers the viewer may see, by key. */
async function findShownTraces(store: Store, keys: readonly number[]): Promise<Map<number, string>> {
  if (keys.length === 0) return new Map()
  const found = await readShards(store, shard =>
    shard.database
      .select({ key: traces.key, id: traces.id })
      .from(traces)
      .where(
        and(
          isOneOf(traces.key, keys),
          eq(traces.organizationKey, store.organization.key),
          isNull(traces.deletedAt),
          isAnswerShown(shard),
        ),
      ),
  )
  return new Map(found.flat().map(({ key, id }) => [key, id]))
}
