import { sql } from 'drizzle-orm'
import { MAX_SOURCE_DOCS, MAX_SOURCE_TEXT_LENGTH } from '../../limits.ts'
import { versionAtReceipt } from '../attribution/outline.ts'
import { readPlain } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import { promptOfStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { versionNumber } from '../insights/version-number.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { type GuidelineRecord, selectGuideline } from './guidelines.ts'

/** A text in the version that a trace's steps used. */
export interface TextAtReceipt {
  id: string
  name: string
  title: string
  versionId: string
  number: number
  /** At most MAX_SOURCE_TEXT_LENGTH characters. */
  content: string
  length: number
}

const fields = {
  id: sql<string>`${versionedTexts.id}`.as('id'),
  name: sql<string>`${versionedTexts.name}`.as('name'),
  title: sql<string>`${versionedTexts.title}`.as('title'),
  versionId: sql<string>`${textVersions.id}`.as('versionId'),
  number: sql<number>`${versionNumber}`.as('number'),
  content: sql<string>`substr(${textVersions.content}, 1, ${sql.raw(String(MAX_SOURCE_TEXT_LENGTH))})`.as('content'),
  length: sql<number>`length(${textVersions.content})`.as('length'),
}

/** A step of a trace, and the prompt version that it recorded. */
interface StepOfTrace {
  traceKey: number
  projectKey: number
  stepId: string
  promptVersionId: string | null
}

/**
 * Finds a step's guideline and the prompt that the step used, in the version that the step recorded or, if it recorded
 * none, the one active when the trace arrived. Takes one round trip to each database that has them.
 */
export async function findStepTexts(
  store: Store,
  { traceKey, projectKey, stepId, promptVersionId }: StepOfTrace,
): Promise<{ prompt: TextAtReceipt | undefined; guideline: GuidelineRecord | undefined }> {
  const { database, organization, control } = store
  const prompts = database
    .select(fields)
    .from(versionedTexts)
    .innerJoin(textVersions, sql`${textVersions.textKey} = ${versionedTexts.key}`)
    .where(
      promptVersionId === null
        ? sql`${versionedTexts.key} = ${promptOfStep(sql`${projectKey}`, sql`${stepId}`)}
              and ${textVersions.key} = ${versionAtReceipt(traceKey)}`
        : sql`${textVersions.id} = ${promptVersionId} and ${versionedTexts.organizationKey} = ${organization.key}
              and ${versionedTexts.projectKey} = ${projectKey} and ${versionedTexts.kind} = 'prompt'`,
    )
  const guidelines = selectGuideline(control, projectKey, stepId)
  if (control === store) {
    const [[prompt], [guideline]] = await readPlain(database, [prompts, guidelines])
    return { prompt, guideline }
  }
  const [[[prompt]], [[guideline]]] = await Promise.all([
    readPlain(database, [prompts]),
    readPlain(control.database, [guidelines]),
  ])
  return { prompt, guideline }
}

/** A knowledge doc that a step named, and the number of its version if the step recorded one. */
export interface NamedDoc {
  slug: string
  number: number | null
}

const DOCS = rowSet(['slug', 'number', 'place'])

/**
 * Finds knowledge docs by slug, each in the version that the step recorded or, if it recorded none, the one active when
 * the trace arrived. Returns the first MAX_SOURCE_DOCS that exist. Takes one round trip.
 */
export async function findDocsAtReceipt(
  { database }: Store,
  { traceKey, projectKey }: Pick<StepOfTrace, 'traceKey' | 'projectKey'>,
  docs: readonly NamedDoc[],
): Promise<TextAtReceipt[]> {
  if (docs.length === 0) return []
  const { row } = DOCS
  const recorded = sql`(select recorded.key from ${textVersions} recorded
    where recorded.text_key = ${versionedTexts.key} and recorded.number = ${row.number})`
  const [found] = await readPlain(database, [
    database
      .select(fields)
      .from(DOCS.from(DOCS.encodeAll(docs.map((doc, place) => ({ ...doc, place })))))
      .crossJoin(versionedTexts)
      .crossJoin(textVersions)
      .where(
        sql`${versionedTexts.projectKey} = ${projectKey} and ${versionedTexts.kind} = 'knowledge_doc'
          and ${versionedTexts.name} = ${row.slug}
          and ${textVersions.key} = coalesce(${recorded}, ${versionAtReceipt(traceKey)})`,
      )
      .orderBy(row.place)
      .limit(MAX_SOURCE_DOCS),
  ])
  return found
}
