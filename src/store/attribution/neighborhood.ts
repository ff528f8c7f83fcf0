import { and, eq, sql } from 'drizzle-orm'
import { MAX_SUBJECT_TEXT_BYTES } from '../../limits.ts'
import { bytesSoFar } from '../core/bounds.ts'
import { readPlain } from '../core/database.ts'
import { promptOfStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { observations, spans } from '../schema/spans.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { foldSpans } from '../spans/fold-spans.ts'
import { lastDecisions, observationFields, spanFields } from '../spans/span-fields.ts'
import { isLive } from '../traces/live.ts'
import { SPAN_PLACES } from '../traces/roots.ts'
import { type Outline, type OutlineSpan, type ReviewedRow, versionAtReceipt } from './outline.ts'

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

/** Reads the chosen spans' values, their prompts, and earlier decisions that may be on the same input. */
export async function readNeighborhood(
  store: Store,
  { trace }: Outline,
  chosen: readonly OutlineSpan[],
  reviewed: readonly ReviewedRow[],
) {
  const { database } = store
  const ids = JSON.stringify(chosen.map(({ id }) => id))
  const isChosen = sql`(${spans.id}, ${spans.traceKey}) in (
    select item.value, ${trace.key} from json_each(${ids}) as item)`
  const versionIds = new Set(chosen.flatMap(({ promptVersionId }) => promptVersionId ?? []))
  const stepIds = new Set(chosen.flatMap(({ promptVersionId, stepId }) => (promptVersionId === null ? stepId : [])))
  const given = (names: Set<string>) => sql`json_each(${JSON.stringify([...names])}) as item`
  const places = reviewed.flatMap(({ traceKey, spanId, rootSpanId }) => [
    { id: spanId, traceKey },
    { id: rootSpanId, traceKey },
  ])
  const past = SPAN_PLACES.from(SPAN_PLACES.encodeAll(places))
  const { row } = SPAN_PLACES
  const isPast = sql`(${spans.id}, ${spans.traceKey}) in (select ${row.id}, ${row.traceKey} from ${past})`
  const rootOf = sql`(select ${traces.rootSpanId} from ${traces} where ${traces.key} = ${observations.traceKey})`
  const [spanRows, observationRows, decisions, named, active, pastTraces, pastSpans, pastInputs, pastDecisions] =
    await readPlain(database, [
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
  const placeOf = new Map(chosen.map(({ id }, index) => [id, index]))
  const inOrder = spanRows.toSorted((left, right) => (placeOf.get(left.id) ?? 0) - (placeOf.get(right.id) ?? 0))
  return {
    folded: foldSpans({ traces: [trace], spans: inOrder, observations: observationRows, decisions }),
    prompts: [...named, ...active],
    precedents: {
      reviewed,
      folded: foldSpans({
        traces: pastTraces,
        spans: pastSpans,
        observations: pastInputs,
        decisions: pastDecisions,
      }),
    },
  }
}

export type Neighborhood = Awaited<ReturnType<typeof readNeighborhood>>
