import { and, eq, sql } from 'drizzle-orm'
import { MAX_SUBJECT_TEXT_BYTES } from '../../limits.ts'
import { bytesSoFar } from '../core/bounds.ts'
import { readPlain } from '../core/database.ts'
import { promptOfStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { observations, spans } from '../schema/spans.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { foldSpans } from '../spans/fold-spans.ts'
import { lastDecisions, observationFields, spanFields } from '../spans/span-fields.ts'
import { type Outline, type OutlineSpan, versionAtReceipt } from './outline.ts'

const versionBytes = bytesSoFar(textVersions.content, textVersions.outputSchema)

const isPromptWhole = sql`${versionBytes} <= ${sql.raw(String(MAX_SUBJECT_TEXT_BYTES))}`

/**
 * A prompt, identified by its version's id or by its step. The fields are null if earlier prompts have used up the
 * limit.
 */
const promptFields = {
  name: sql<string>`item.value`.as('name'),
  content: sql<string | null>`iif(${isPromptWhole}, ${textVersions.content}, null)`.as('content'),
  outputSchema: sql<string | null>`iif(${isPromptWhole}, ${textVersions.outputSchema}, null)`.as('outputSchema'),
}

/** Reads the chosen spans' values and their prompts. */
export async function readNeighborhood(store: Store, { trace }: Outline, chosen: readonly OutlineSpan[]) {
  const { database } = store
  const ids = JSON.stringify(chosen.map(({ id }) => id))
  const isChosen = sql`(${spans.id}, ${spans.traceKey}) in (
    select item.value, ${trace.key} from json_each(${ids}) as item)`
  const versionIds = new Set(chosen.flatMap(({ promptVersionId }) => promptVersionId ?? []))
  const stepIds = new Set(chosen.flatMap(({ promptVersionId, stepId }) => (promptVersionId === null ? stepId : [])))
  const given = (names: Set<string>) => sql`json_each(${JSON.stringify([...names])}) as item`
  const [spanRows, observationRows, decisions, named, active] = await readPlain(database, [
    database.select(spanFields).from(spans).where(isChosen),
    database
      .select(observationFields())
      .from(observations)
      .where(
        and(
          eq(observations.traceKey, trace.key),
          sql`coalesce(${observations.spanId}, ${trace.rootSpanId}) in (
              select item.value from json_each(${ids}) as item)`,
        ),
      ),
    lastDecisions(store, isChosen),
    database
      .select(promptFields)
      .from(given(versionIds))
      .crossJoin(textVersions)
      .where(sql`${textVersions.id} = item.value`),
    database
      .select(promptFields)
      .from(given(stepIds))
      .crossJoin(versionedTexts)
      .crossJoin(textVersions)
      .where(
        and(
          eq(versionedTexts.key, promptOfStep(sql`${trace.projectKey}`, sql`item.value`)),
          eq(textVersions.key, versionAtReceipt(trace.key)),
        ),
      ),
  ])
  const placeOf = new Map(chosen.map(({ id }, index) => [id, index]))
  const inOrder = spanRows.toSorted((left, right) => (placeOf.get(left.id) ?? 0) - (placeOf.get(right.id) ?? 0))
  return {
    folded: foldSpans({ traces: [trace], spans: inOrder, observations: observationRows, decisions }),
    prompts: [...named, ...active],
  }
}

export type Neighborhood = Awaited<ReturnType<typeof readNeighborhood>>
