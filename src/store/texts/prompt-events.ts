import { sql } from 'drizzle-orm'
import type { TextKind } from '../../domain/versioned-text.ts'
import { type Act, actorOf } from '../accounts/audit.ts'
import { recordEvents } from '../core/outbox.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { auditLog } from '../schema/accounts.ts'
import { versionedTexts } from '../schema/texts.ts'

/**
 * The statements, one or none, that record that another version of a text is active, if it's a prompt. They come after
 * the statement of the audit entry `entryId`, which is only there if the version changed, and names the version before.
 */
export const recordActivation = (
  store: Store,
  act: Act,
  { id, kind, projectKey }: { id: string; kind: TextKind; projectKey: number },
  versionId: string,
  entryId: string,
) => {
  if (kind !== 'prompt') return []
  const stepId = readStepId(sql`${projectKey}`, versionedTexts.name)
  const data = { promptId: id, stepId, versionId, previousVersionId: auditLog.beforeId }
  const event = { id: entryId, traceKey: null, subjectId: id, actorId: actorOf(act), at: act.at, data }
  return recordEvents(
    store,
    'prompt.activated',
    projectKey,
    event,
    sql`from ${auditLog} cross join ${versionedTexts}
      where ${auditLog.organizationKey} = ${store.organization.key} and ${auditLog.createdAt} = ${act.at}
        and ${auditLog.id} = ${entryId} and ${versionedTexts.id} = ${id}`,
  )
}
