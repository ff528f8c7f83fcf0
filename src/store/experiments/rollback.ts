import { type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { MIN_ROLLBACK_LOOK } from '../../domain/watch.ts'
import { recordAct } from '../accounts/audit.ts'
import type { Store } from '../core/store.ts'
import { gates } from '../schema/experiments.ts'
import { textActivations, textVersions, watchLooks } from '../schema/texts.ts'
import { changingTexts } from '../texts/near-texts.ts'
import { recordActivation, recordRollback } from '../texts/prompt-events.ts'
import { readWatches, type Watch, type Watched, type WatchLook } from '../texts/watch.ts'
import { isGateOf, stepOfPrompt } from './gates.ts'

/** The time at which watches are followed, and the id of the request or run that follows them. */
interface Occasion {
  at: number
  requestId: string
}

/**
 * Stores the looks that watches have reached. If a new version is worse than the previous one and its step's gate has
 * `autoRollback`, also reactivates the previous version.
 */
export async function followWatches(store: Store, watched: Watched, occasion: Occasion): Promise<void> {
  for (const watch of (await readWatches(store, watched)).values()) {
    const last = watch.looks.at(-1)
    if (last?.state === 'worse' && last.look >= MIN_ROLLBACK_LOOK) {
      await changingTexts(store, () => rollBack(store, watch, last, occasion))
    }
  }
}

/**
 * Reactivates the previous version, if the gate still has `autoRollback` and nobody has activated another version. Each
 * version is rolled back at most once: if somebody reactivates it, it stays active.
 */
async function rollBack(
  { control: store }: Store,
  watch: Watch,
  look: WatchLook,
  { at, requestId }: Occasion,
): Promise<void> {
  const { database } = store
  const { promptId, activatedAt, versionId, previousVersionId, place } = watch
  const { textKey, projectKey, versionKey, previousVersionKey } = place
  // The last activation in the history must always be that of the active version.
  const rolledBackAt = Math.max(at, activatedAt + 1)
  const ofText = sql`${textActivations.textKey} = ${textKey}`
  const isActivated = (condition: SQL) =>
    sql`exists (select 1 from ${textActivations} where ${ofText} and ${condition})`
  const isThisLook = sql`${watchLooks.textKey} = ${textKey} and ${watchLooks.activatedAt} = ${activatedAt}
    and ${watchLooks.look} = ${look.look}`
  // Whether the first statement had an effect and nobody has activated a version since then. The other statements don't
  // change that, so a retry has no further effect.
  const isRolledBack = sql`(exists (
      select 1 from ${watchLooks} where ${isThisLook} and ${watchLooks.rolledBackAt} = ${rolledBackAt})
    and not ${isActivated(sql`${textActivations.activatedAt} > ${rolledBackAt}`)})`
  const isPrevious = sql`${textVersions.key} = ${previousVersionKey}`
  const act = { keyId: null, userId: null, requestId, at }
  const entryId = newId()
  const prompt = { id: promptId, kind: 'prompt', projectKey } as const
  await database.batch([
    database
      .update(watchLooks)
      .set({ rolledBackAt })
      .where(
        sql`${isThisLook} and ${watchLooks.rolledBackAt} is null
          and ${isActivated(sql`${textActivations.activatedAt} = ${activatedAt} and ${textActivations.versionKey} = ${versionKey}`)}
          and not ${isActivated(sql`${textActivations.activatedAt} > ${activatedAt}`)}
          and not ${isActivated(sql`${textActivations.activatedAt} < ${activatedAt} and ${textActivations.versionKey} = ${versionKey}`)}
          and exists (select 1 from ${gates}
            where ${isGateOf(stepOfPrompt({ id: promptId, projectKey }))} and ${gates.autoRollback} = 1)`,
      ),
    recordAct(
      store,
      act,
      {
        id: entryId,
        action: 'prompt.roll_back',
        targetId: promptId,
        projectKey,
        beforeId: versionId,
        afterId: previousVersionId,
        reason: reasonFor(watch, look),
      },
      sql`${isRolledBack} and exists (select 1 from ${textVersions} where ${isPrevious} and ${textVersions.isActive} = 0)`,
    ),
    database
      .insert(textActivations)
      .select(sql`select ${textKey}, ${rolledBackAt}, ${previousVersionKey} where ${isRolledBack}`)
      .onConflictDoNothing(),
    database
      .update(textVersions)
      .set({ isActive: false })
      .where(
        sql`${textVersions.textKey} = ${textKey} and ${textVersions.isActive} = 1 and not ${isPrevious} and ${isRolledBack}`,
      ),
    database.update(textVersions).set({ isActive: true }).where(sql`${isPrevious} and ${isRolledBack}`),
    ...recordActivation(store, act, prompt, previousVersionId, entryId),
    ...recordRollback(store, act, prompt, previousVersionId, entryId, { isAutomatic: true }),
  ])
}

const reasonFor = ({ versionNumber, previousVersionNumber }: Watch, { before, after, p }: WatchLook): string =>
  `Version ${versionNumber} is worse: ${after.accepted} of ${after.n} outputs accepted, compared with ${before.accepted} of ${before.n} from version ${previousVersionNumber}; p = ${p.toPrecision(2)}`
