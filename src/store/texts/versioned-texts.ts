import { and, asc, eq, gt, ne, not, type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json.ts'
import type { TextKind } from '../../domain/versioned-text.ts'
import { MAX_PAGE_BYTES, MAX_VERSIONS_BYTES, VERSION_BYTES } from '../../limits.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { hasExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { readShards, sumOf, sumRows } from '../core/across.ts'
import { bytesOf, quotedJson } from '../core/bounds.ts'
import { named } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import { isStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { type Decided, versionDecisionsQuery } from '../insights/insights.ts'
import { versionNumber } from '../insights/version-number.ts'
import { promptSuggestionExamples, promptSuggestions } from '../schema/prompt-suggestions.ts'
import { textActivations, textVersions, versionedTexts, watchLooks } from '../schema/texts.ts'
import { recordActivation, recordRollback } from './prompt-events.ts'

/** A prompt or a knowledge doc with its active version. */
export interface ActiveText {
  id: string
  name: string
  title: string
  versionId: string
  versionNumber: number
  versionCreatedAt: number
  content: string
  /** A prompt's schema; null for a knowledge doc. */
  outputSchema: JsonText | null
  createdAt: number
  activatedAt: number
}

/** One version of a text. */
export interface TextVersion {
  id: string
  content: string
  outputSchema: JsonText | null
  note: string | null
  isActive: boolean
  createdAt: number
  /** Versions of a text are numbered from 1. */
  number: number
}

/** A text without its versions, because they may be large. */
export interface TextHead {
  id: string
  kind: TextKind
  projectKey: number
}

/** A text with every version, oldest first. */
export interface TextDetail {
  id: string
  projectKey: number
  name: string
  title: string
  versions: TextVersion[]
}

/** A prompt with every version, and the number of current decisions on spans that used each version, by version id. */
export interface PromptRecord extends TextDetail {
  decided: ReadonlyMap<string, Decided>
  /** The versions that are or were active, by id. */
  activated: ReadonlySet<string>
  /** The problem that a model wrote a version for, by version id. */
  suggested: ReadonlyMap<string, string>
}

/** A new version. The caller chooses `id`, so a retry doesn't add a second one. */
export interface VersionDraft {
  id: string
  content: string
  /** As JSON. Null inherits the active version's schema. */
  outputSchema: string | null
  note: string | null
  createdAt: number
}

interface TextDraft {
  id: string
  kind: TextKind
  name: string
  title: string
  version: VersionDraft
}

/** The condition under which a version may become active. */
export interface Permit {
  /** Checked by the statements that activate it. */
  holds: SQL
  /** Why somebody overrides a gate, for the audit log. */
  reason: string | SQL | null
}

const PERMITTED: Permit = { holds: sql`true`, reason: null }

/**
 * Creates a text with its first version, which is active. `taken`: the project already has a text of this kind and
 * name, or a prompt for the same step under another name. `refused`: the permit's condition is false.
 */
export async function addText(
  store: Store,
  act: Act,
  project: Project,
  draft: TextDraft,
  permit: Permit = PERMITTED,
): Promise<ActiveText | 'taken' | 'refused'> {
  const { database, organization } = store
  const { version, ...fields } = draft
  const isNew = eq(versionedTexts.id, draft.id)
  const isTaken = sql`exists (select 1 from ${versionedTexts} where ${isNamed(project, draft.kind, draft.name)})`
  const entryId = newId()
  const [, , , , , [text]] = await database.batch([
    database
      .insert(versionedTexts)
      .select(
        selectFor(
          versionedTexts,
          {
            ...fields,
            key: null,
            organizationKey: organization.key,
            projectKey: project.key,
            createdAt: version.createdAt,
          },
          // The index by name can't tell that an old and a new name belong to the same step.
          sql`where ${permit.holds} and not ${isTaken}`,
        ),
      )
      .onConflictDoNothing(),
    database
      .insert(textVersions)
      .select(
        selectFor(
          textVersions,
          { ...version, key: null, textKey: versionedTexts.key, isActive: 0, number: 1 },
          sql`from ${versionedTexts} where ${ofStore(store, isNew)}`,
        ),
      )
      .onConflictDoNothing(),
    ...activationStatements(store, version.id, act.at),
    selectActive(store, isNew),
    recordAct(
      store,
      act,
      {
        id: entryId,
        action: `${draft.kind}.create`,
        targetId: draft.id,
        projectKey: project.key,
        afterId: draft.id,
        reason: permit.reason,
      },
      sql`exists (select 1 from ${versionedTexts} where ${ofStore(store, isNew)})`,
    ),
    ...recordActivation(store, act, { ...draft, projectKey: project.key }, version.id, entryId),
  ])
  if (text) return withSchema(text)
  await requireExisting(store, project)
  const [row] = await database.select({ isTaken: sql<number>`${isTaken}` }).from(sql`(select 1)`)
  return row?.isTaken ? 'taken' : 'refused'
}

/**
 * Adds a version to a text if `holds` is true, and activates it if `activate` is set. `too_large`: together, the
 * versions would be too large for one response. `text_missing`: the text was deleted in the meantime. `refused`:
 * `holds` is false.
 */
export async function addVersion(
  store: Store,
  act: Act,
  text: TextHead,
  draft: VersionDraft,
  activate: boolean,
  holds: SQL = PERMITTED.holds,
): Promise<TextVersion | 'too_large' | 'text_missing' | 'refused'> {
  const { database } = store
  const ofText = ofStore(store, eq(versionedTexts.id, text.id))
  const schema = sql`coalesce(${draft.outputSchema}, (
    select ${textVersions.outputSchema} from ${textVersions}
    where ${textVersions.textKey} = ${versionedTexts.key} and ${isActive}))`
  const bytesBefore = sql`(
    select ${bytesOf(quotedJson(textVersions.content), textVersions.outputSchema, quotedJson(textVersions.note))} + count(*) * ${VERSION_BYTES}
    from ${textVersions} where ${textVersions.textKey} = ${versionedTexts.key})`
  // Versions are deleted only with their text, so this count plus 1 is a number that no version has had.
  const countBefore = sql`(
    select count(*) from ${textVersions} where ${textVersions.textKey} = ${versionedTexts.key})`
  const insert = database
    .insert(textVersions)
    .select(
      selectFor(
        textVersions,
        {
          ...draft,
          key: null,
          textKey: versionedTexts.key,
          outputSchema: schema,
          isActive: 0,
          number: sql`${countBefore} + 1`,
        },
        sql`from ${versionedTexts}
          where ${ofText} and ${holds} and ${bytesBefore} + octet_length(${quotedJson(draft.content)})
            + coalesce(octet_length(${schema}), 0) <= ${MAX_VERSIONS_BYTES}`,
      ),
    )
    .onConflictDoNothing()
  const select = selectVersions(store, eq(textVersions.id, draft.id))
  const recorded = recordAct(
    store,
    act,
    { action: `${text.kind}.add_version`, targetId: text.id, projectKey: text.projectKey, afterId: draft.id },
    sql`exists (select 1 from ${textVersions} where ${textVersions.id} = ${draft.id})`,
  )
  const entryId = newId()
  const activation = recordedActivationStatements(store, act, text, draft.id, entryId)
  const events = recordActivation(store, act, text, draft.id, entryId)
  const rows = activate
    ? (await database.batch([insert, recorded, ...activation, select, ...events]))[6]
    : (await database.batch([insert, recorded, select]))[2]
  const [version] = rows
  if (version) return withSchema(version)
  if (!(await findTextHead(store, text))) return 'text_missing'
  const [row] = await database.select({ holds: sql<number>`${holds}` }).from(sql`(select 1)`)
  return row?.holds ? 'too_large' : 'refused'
}

/** The gate that a prompt's versions have to pass. */
export interface Barrier {
  /** Whether the step has no gate. */
  isAbsent: SQL
  /** Permits an activation, or throws. */
  permit: () => Promise<Permit>
}

/**
 * Activates a version of a text and returns the text. `text_missing` and `version_missing` say which of the two doesn't
 * exist. If there's a barrier, a version that was never active needs a permit. If the permit's condition is no longer
 * true when the version is activated, the barrier is checked again.
 */
export async function activateVersion(
  store: Store,
  act: Act,
  text: TextHead,
  versionId: string,
  barrier?: Barrier,
): Promise<ActiveText | 'text_missing' | 'version_missing'> {
  const isVersionOf = sql`exists (
    select 1 from ${textVersions} where ${textVersions.id} = ${versionId} and ${textVersions.textKey} = ${versionedTexts.key})`
  const [found] = await store.database
    .select({ id: versionedTexts.id })
    .from(versionedTexts)
    .where(ofStore(store, eq(versionedTexts.id, text.id), isVersionOf))
  if (!found) return (await findTextHead(store, text)) ? 'version_missing' : 'text_missing'
  const wasActive = sql`exists (
    select 1 from ${textVersions} as version cross join ${textActivations} as past
    where version.id = ${versionId} and past.text_key = version.text_key and past.version_key = version.key)`
  let permit: Permit = barrier ? { holds: barrier.isAbsent, reason: null } : PERMITTED
  for (let losses = 0; ; losses++) {
    if (losses > 1) await store.deadline.giveWay(losses)
    const holds = sql`(${permit.holds} or ${wasActive})`
    const reason = permit.reason === null ? null : sql`iif(${wasActive}, null, ${permit.reason})`
    const entryId = newId()
    const [, , , , [checked], [active]] = await store.database.batch([
      ...recordedActivationStatements(store, act, text, versionId, entryId, { holds, reason }),
      store.database.select({ holds: sql<number>`${holds}`.as('holds') }).from(sql`(select 1)`),
      selectActive(store, eq(versionedTexts.id, text.id)),
      ...recordActivation(store, act, text, versionId, entryId),
      ...recordRollback(store, act, text, versionId, entryId, { isAutomatic: false }),
    ])
    if (!active) return 'text_missing'
    if (!barrier || checked?.holds) return withSchema(active)
    permit = await barrier.permit()
  }
}

/**
 * Renames a knowledge doc. An undefined title changes nothing. Returns the doc with its active version, or undefined if
 * it's gone.
 */
export async function changeTitle(
  store: Store,
  act: Act,
  { id, projectKey }: TextHead,
  title: string | undefined,
): Promise<ActiveText | undefined> {
  const isText = ofStore(store, eq(versionedTexts.id, id))
  const isChanged = and(isText, title === undefined ? sql`false` : ne(versionedTexts.title, title))
  const [, , [text]] = await store.database.batch([
    recordAct(
      store,
      act,
      { action: 'knowledge_doc.change', targetId: id, projectKey },
      sql`exists (select 1 from ${versionedTexts} where ${isChanged})`,
    ),
    store.database
      .update(versionedTexts)
      .set({ title: title ?? '' })
      .where(isChanged),
    selectActive(store, eq(versionedTexts.id, id)),
  ])
  return text && withSchema(text)
}

/**
 * Deletes a text with its versions and activations. Its name is immediately available again. Spans keep the ids of the
 * versions they used. Deleting a text that is already gone succeeds, because a batch may be retried.
 */
export async function deleteText(store: Store, act: Act, { id, kind, projectKey }: TextHead): Promise<void> {
  const { database } = store
  const isText = ofStore(store, eq(versionedTexts.id, id))
  const textKey = sql`(select ${versionedTexts.key} from ${versionedTexts} where ${isText})`
  const ofText = sql`${promptSuggestions.promptId} = (select ${versionedTexts.id} from ${versionedTexts} where ${isText})`
  await database.batch([
    recordAct(
      store,
      act,
      { action: `${kind}.delete`, targetId: id, projectKey, beforeId: id },
      sql`exists (select 1 from ${versionedTexts} where ${isText})`,
    ),
    database.delete(watchLooks).where(sql`${watchLooks.textKey} = ${textKey}`),
    database.delete(promptSuggestionExamples).where(
      sql`${promptSuggestionExamples.versionId} in (
          select ${promptSuggestions.versionId} from ${promptSuggestions} where ${ofText})`,
    ),
    database.delete(promptSuggestions).where(ofText),
    database.delete(textActivations).where(sql`${textActivations.textKey} = ${textKey}`),
    database.delete(textVersions).where(sql`${textVersions.textKey} = ${textKey}`),
    database.delete(versionedTexts).where(isText),
  ])
}

/**
 * A page of a project's texts of one kind with their active versions, sorted by stored name, and where the next page
 * starts. The page may be short if the texts are long.
 */
export async function listTexts(
  store: Store,
  project: Pick<Project, 'key'>,
  { kind, name, limit, after }: { kind: TextKind; name: string | undefined; limit: number; after: string },
): Promise<{ items: ActiveText[]; nextPlace: string | null }> {
  const soFar = sql<number>`${bytesOf(quotedJson(textVersions.content), textVersions.outputSchema)}
    over (order by ${versionedTexts.name} rows unbounded preceding)`
  const rows = await store.database
    .select({
      ...activeColumns,
      storedName: versionedTexts.name,
      content: sql<string>`iif(${soFar} > ${MAX_PAGE_BYTES}, '', ${textVersions.content})`.as('bounded_content'),
      isCut: sql<number>`${soFar} > ${MAX_PAGE_BYTES}`.as('is_cut'),
    })
    .from(versionedTexts)
    .innerJoin(textVersions, and(eq(textVersions.textKey, versionedTexts.key), isActive))
    .where(
      ofStore(
        store,
        eq(versionedTexts.projectKey, project.key),
        eq(versionedTexts.kind, kind),
        name === undefined ? undefined : isNamed(project, kind, name),
        gt(versionedTexts.name, after),
      ),
    )
    .orderBy(asc(versionedTexts.name))
    .limit(limit + 1)
  const whole = rows.filter(({ isCut }) => isCut === 0).slice(0, limit)
  const hasMore = rows.length > whole.length
  return { items: whole.map(withSchema), nextPlace: (hasMore && whole.at(-1)?.storedName) || null }
}

/** Finds a text without its versions. */
export async function findTextHead(
  store: Store,
  { kind, id }: { kind: TextKind; id: string },
): Promise<TextHead | undefined> {
  const [text] = await store.database
    .select({ id: versionedTexts.id, kind: versionedTexts.kind, projectKey: versionedTexts.projectKey })
    .from(versionedTexts)
    .where(ofStore(store, eq(versionedTexts.id, id), eq(versionedTexts.kind, kind)))
  return text
}

/** Finds a text with the schema that a new version would inherit from the active one. */
export async function findTextToExtend(
  store: Store,
  { kind, id }: { kind: TextKind; id: string },
): Promise<(TextHead & { outputSchema: JsonText | null }) | undefined> {
  const [text] = await store.database
    .select({
      ...named({ id: versionedTexts.id, kind: versionedTexts.kind, projectKey: versionedTexts.projectKey }),
      outputSchema: sql<string | null>`${textVersions.outputSchema}`.as('outputSchema'),
    })
    .from(versionedTexts)
    .innerJoin(textVersions, and(eq(textVersions.textKey, versionedTexts.key), isActive))
    .where(ofStore(store, eq(versionedTexts.id, id), eq(versionedTexts.kind, kind)))
  return text && withSchema(text)
}

/** Finds a text with all its versions. */
export async function findText(
  store: Store,
  { kind, id }: { kind: TextKind; id: string },
): Promise<TextDetail | undefined> {
  const ofText = ofStore(store, eq(versionedTexts.id, id), eq(versionedTexts.kind, kind))
  const [[text], versions] = await store.database.batch([
    selectDetail(store, ofText),
    selectVersions(store, isOf(ofText)),
  ])
  return text && { ...text, versions: oldestFirst(versions) }
}

/** Whether a version belongs to the text that meets a condition. */
const isOf = (ofText: SQL | undefined): SQL =>
  sql`${textVersions.textKey} = (select ${versionedTexts.key} from ${versionedTexts} where ${ofText})`

const selectDetail = ({ database }: Store, ofText: SQL | undefined) =>
  database
    .select({
      id: versionedTexts.id,
      projectKey: versionedTexts.projectKey,
      name: shownName.as('shown_name'),
      title: versionedTexts.title,
    })
    .from(versionedTexts)
    .where(ofText)

/** Finds a prompt with all its versions and the decisions on them. */
export async function findPrompt(store: Store, id: string): Promise<PromptRecord | undefined> {
  const ofPrompt = ofStore(store, eq(versionedTexts.id, id), eq(versionedTexts.kind, 'prompt'))
  const { control, databases } = store
  const isOne = databases.length === 1
  const [[[prompt], versions, activated, suggested, own = []], inShards] = await Promise.all([
    control.database.batch([
      selectDetail(control, ofPrompt),
      selectVersions(control, isOf(ofPrompt)),
      control.database
        .selectDistinct({ id: textVersions.id })
        .from(textActivations)
        .innerJoin(textVersions, eq(textVersions.key, textActivations.versionKey))
        .where(
          sql`${textActivations.textKey} = (select ${versionedTexts.key} from ${versionedTexts} where ${ofPrompt})`,
        ),
      control.database
        .select({ versionId: promptSuggestions.versionId, problemId: promptSuggestions.problemId })
        .from(promptSuggestions)
        .where(
          sql`${promptSuggestions.promptId} = (select ${versionedTexts.id} from ${versionedTexts} where ${ofPrompt})`,
        ),
      ...(isOne ? [versionDecisionsQuery(control, ofPrompt)] : []),
    ]),
    isOne ? undefined : readShards(store, shard => versionDecisionsQuery(shard, ofPrompt)),
  ])
  const decided = sumRows(inShards ?? [own], ({ versionId }) => [versionId], sumOf('accepted', 'corrected'))
  return (
    prompt && {
      ...prompt,
      versions: oldestFirst(versions),
      decided: new Map(decided.map(({ versionId, ...count }) => [versionId, count])),
      activated: new Set(activated.map(({ id }) => id)),
      suggested: new Map(suggested.map(({ versionId, problemId }) => [versionId, problemId])),
    }
  )
}

/** Finds two versions of a text by their ids. Each is undefined if the text has no such version. */
export async function findVersions(
  store: Store,
  { id }: TextHead,
  [first, second]: [string, string],
): Promise<[TextVersion | undefined, TextVersion | undefined]> {
  const ofText = isOf(ofStore(store, eq(versionedTexts.id, id)))
  const select = (versionId: string) => selectVersions(store, sql`${textVersions.id} = ${versionId} and ${ofText}`)
  const [[before], [after]] = await store.database.batch([select(first), select(second)])
  return [before && withSchema(before), after && withSchema(after)]
}

/** The condition of every query on texts: a text is in the store's organization, and its project isn't deleted. */
const ofStore = (store: Store, ...conditions: (SQL | undefined)[]) =>
  and(
    eq(versionedTexts.organizationKey, store.organization.key),
    hasExistingProject(store, versionedTexts.projectKey),
    ...conditions,
  )

/** Must be written exactly like the condition of the index on active versions. */
const isActive = sql`${textVersions.isActive} = 1`

/**
 * The statements that activate a version unless it's already active. The active version is deactivated first, because
 * the database allows only one. Run them in one batch, so no reader ever sees a text without an active version. Either
 * all of them have an effect or none does, because none of them changes whether `holds` is true.
 */
function activationStatements(store: Store, versionId: string, now: number, holds: SQL = PERMITTED.holds) {
  const { database } = store
  const ofSameText = sql`${textVersions.textKey} = (
    select own.text_key from ${textVersions} own inner join ${versionedTexts} on ${versionedTexts.key} = own.text_key
    where own.id = ${versionId} and ${ofStore(store)})`
  const isVersion = eq(textVersions.id, versionId)
  // Later than the previous activation even if isolates' clocks disagree, because the version that was activated last
  // is the active one.
  const activatedAt = sql`max(${now}, coalesce((
    select max(${textActivations.activatedAt}) + 1 from ${textActivations}
    where ${textActivations.textKey} = ${textVersions.textKey}), 0))`
  return [
    database
      .insert(textActivations)
      .select(
        selectFor(
          textActivations,
          { textKey: textVersions.textKey, activatedAt, versionKey: textVersions.key },
          sql`from ${textVersions} where ${ofSameText} and ${isVersion} and ${textVersions.isActive} = 0 and ${holds}`,
        ),
      )
      .onConflictDoNothing(),
    database
      .update(textVersions)
      .set({ isActive: false })
      .where(and(ofSameText, isActive, not(isVersion), holds)),
    database
      .update(textVersions)
      .set({ isActive: true })
      .where(and(ofSameText, isVersion, holds)),
  ] as const
}

/**
 * The statements that activate a version. The first one adds the audit entry, because it needs the previous version. If
 * the version is already active, no entry is added.
 */
function recordedActivationStatements(
  store: Store,
  act: Act,
  text: TextHead,
  versionId: string,
  entryId: string,
  { holds, reason }: Permit = PERMITTED,
) {
  const before = sql`(
    select ${textVersions.id}
    from ${textVersions} inner join ${versionedTexts} on ${versionedTexts.key} = ${textVersions.textKey}
    where ${ofStore(store, eq(versionedTexts.id, text.id))} and ${isActive})`
  const { id: targetId, projectKey } = text
  return [
    recordAct(
      store,
      act,
      {
        id: entryId,
        action: `${text.kind}.activate`,
        targetId,
        projectKey,
        beforeId: before,
        afterId: versionId,
        reason,
      },
      sql`${holds} and exists (
        select 1 from ${textVersions} where ${textVersions.id} = ${versionId} and ${textVersions.isActive} = 0)`,
    ),
    ...activationStatements(store, versionId, act.at, holds),
  ] as const
}

/** Whether a text in the project has this name. A prompt has all the names of its step. */
export const isNamed = ({ key }: Pick<Project, 'key'>, kind: TextKind, name: string): SQL | undefined =>
  and(
    eq(versionedTexts.projectKey, key),
    eq(versionedTexts.kind, kind),
    kind === 'prompt' ? isStep(key, versionedTexts.name, name) : eq(versionedTexts.name, name),
  )

/** A text's name as responses show it: a prompt has its step's current name. */
const shownName = sql<string>`iif(${versionedTexts.kind} = 'prompt', ${readStepId(
  versionedTexts.projectKey,
  versionedTexts.name,
)}, ${versionedTexts.name})`

/** Column names must be unique, because drizzle mixes up equal names in a batch. */
const activeColumns = {
  id: sql<string>`${versionedTexts.id}`.as('text_id'),
  name: shownName.as('shown_name'),
  title: versionedTexts.title,
  versionId: sql<string>`${textVersions.id}`.as('version_id'),
  versionNumber: sql<number>`${versionNumber}`.as('version_number'),
  versionCreatedAt: sql<number>`${textVersions.createdAt}`.as('version_created_at'),
  content: textVersions.content,
  outputSchema: sql<string | null>`${textVersions.outputSchema}`.as('schema_text'),
  createdAt: sql<number>`${versionedTexts.createdAt}`.as('text_created_at'),
  activatedAt: sql<number>`(
    select max(${textActivations.activatedAt}) from ${textActivations}
    where ${textActivations.textKey} = ${versionedTexts.key})`.as('activated_at'),
}

const selectActive = (store: Store, condition: SQL) =>
  store.database
    .select(activeColumns)
    .from(versionedTexts)
    .innerJoin(textVersions, and(eq(textVersions.textKey, versionedTexts.key), isActive))
    .where(ofStore(store, condition))

const selectVersions = (store: Store, condition: SQL) =>
  store.database
    .select({
      id: textVersions.id,
      content: textVersions.content,
      outputSchema: sql<string | null>`${textVersions.outputSchema}`.as('schema_text'),
      note: textVersions.note,
      isActive: textVersions.isActive,
      createdAt: textVersions.createdAt,
      number: sql<number>`${versionNumber}`.as('number'),
    })
    .from(textVersions)
    .where(
      and(
        condition,
        sql`exists (select 1 from ${versionedTexts} where ${versionedTexts.key} = ${textVersions.textKey} and ${ofStore(store)})`,
      ),
    )

/** The index already returns versions in this order, except for those whose number is computed when they're read. */
const oldestFirst = <Row extends { number: number; outputSchema: string | null }>(versions: readonly Row[]) =>
  versions.toSorted((left, right) => left.number - right.number).map(withSchema)

const withSchema = <Row extends { outputSchema: string | null }>({ outputSchema, ...row }: Row) => ({
  ...row,
  outputSchema: outputSchema === null ? null : new JsonText(outputSchema),
})
