import { type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import type { TextKind } from '../../domain/versioned-text.ts'
import { type Act, actorOf } from '../accounts/audit.ts'
import { recordEvents } from '../core/outbox.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { auditLog } from '../schema/accounts.ts'
import { textActivations, textVersions, versionedTexts } from '../schema/texts.ts'

/** The prompt or knowledge doc that an event is about. */
interface EventText {
  id: string
  kind: TextKind
  projectKey: number
}

/**
 * The statements (one or none) that record that a prompt has a new active version. There are none for a knowledge doc.
 * Run them after the statement that adds the audit entry `entryId`. That entry exists only if the active version
 * changed, and it has the id of the previous version.
 */
export const recordActivation = (
  store: Store,
  act: Act,
  { id, kind, projectKey }: EventText,
  versionId: string,
  entryId: string,
) => {
  if (kind !== 'prompt') return []
  const event = { ...eventOf(act, id), id: entryId, data: dataOf({ id, projectKey }, versionId) }
  return recordEvents(store, 'prompt.activated', projectKey, event, ofEntry(store, act, id, entryId))
}

/**
 * The statements (one or none) that record that an earlier version of a prompt is active again. Run them like those of
 * `recordActivation`. They always record this if the service reactivated the version. Otherwise, they record it only if
 * the previous version is newer and the version was active before.
 */
export const recordRollback = (
  store: Store,
  act: Act,
  { id, kind, projectKey }: EventText,
  versionId: string,
  entryId: string,
  { isAutomatic }: { isAutomatic: boolean },
) => {
  if (kind !== 'prompt') return []
  const event = {
    ...eventOf(act, id),
    id: newId(),
    data: { ...dataOf({ id, projectKey }, versionId), automatic: isAutomatic, reason: auditLog.reason },
  }
  const isReturn = sql`exists (
    select 1 from ${textVersions} version cross join ${textVersions} former
    where version.id = ${versionId} and former.id = ${auditLog.beforeId} and version.key < former.key
      and 1 < (select count(*) from ${textActivations} past
        where past.text_key = version.text_key and past.version_key = version.key))`
  const from = sql`${ofEntry(store, act, id, entryId)} and ${isAutomatic ? sql`true` : isReturn}`
  return recordEvents(store, 'prompt.rolled_back', projectKey, event, from)
}

const eventOf = (act: Act, id: string) => ({
  traceKey: null,
  subjectId: id,
  actorId: actorOf(act),
  at: act.at,
})

const dataOf = ({ id, projectKey }: Pick<EventText, 'id' | 'projectKey'>, versionId: string) => ({
  promptId: id,
  stepId: readStepId(sql`${projectKey}`, versionedTexts.name),
  versionId,
  versionNumber: numberOf(sql`${versionId}`),
  previousVersionId: auditLog.beforeId,
  previousVersionNumber: numberOf(sql`${auditLog.beforeId}`),
})

/** The number of the version with this id. Like `versionNumber` in insights. */
const numberOf = (versionId: SQL): SQL => sql`(
  select coalesce(numbered.number, (
    select count(*) from ${textVersions} older where older.text_key = numbered.text_key and older.key <= numbered.key))
  from ${textVersions} numbered where numbered.id = ${versionId})`

/** The audit entry and its text. */
const ofEntry = ({ organization }: Store, { at }: Act, id: string, entryId: string): SQL => sql`
  from ${auditLog} cross join ${versionedTexts}
  where ${auditLog.organizationKey} = ${organization.key} and ${auditLog.createdAt} = ${at}
    and ${auditLog.id} = ${entryId} and ${versionedTexts.id} = ${id}`
