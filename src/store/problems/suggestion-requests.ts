import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { TextChange } from '../../domain/suggestion.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { holdsJob, isJob, isPending, type ModelJob, requestModelJob } from '../model-jobs/jobs.ts'
import { users } from '../schema/accounts.ts'
import { modelJobs } from '../schema/model-jobs.ts'
import { promptSuggestionExamples, promptSuggestions } from '../schema/prompt-suggestions.ts'
import { textVersions } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'

/*
 * A model's suggestions for problems. A request stores the id of the version to write, and the problem's job adds only
 * that version, no matter how often the job runs.
 */

/** A change without its reason and its examples, which are stored separately. */
export interface StoredChange extends TextChange {
  /** Whether some of its words were copied from an example. This stays true after that example is deleted. */
  isCopied: boolean
}

/** The problem that a suggestion is for. */
export interface OfProblem {
  projectKey: number
  problemId: string
}

export const suggestionJob = ({ problemId }: Pick<OfProblem, 'problemId'>) =>
  ({ kind: 'suggest_version', subject: problemId }) as const

export const isFor = ({ projectKey, problemId }: OfProblem, ...conditions: SQL[]) =>
  and(eq(promptSuggestions.projectKey, projectKey), eq(promptSuggestions.problemId, problemId), ...conditions)

interface RequestDraft {
  /** The id that the version will have. */
  versionId: string
  promptId: string
  /** The problem's candidate before the suggestion. */
  candidateBefore: string | null
}

/** Requests a version of a prompt for a problem. Does nothing while an earlier request is pending. */
export async function requestSuggestion(
  store: Store,
  act: Act,
  problem: OfProblem,
  draft: RequestDraft,
): Promise<void> {
  const { database } = store
  const { projectKey, problemId } = problem
  const isFree = sql`not exists (select 1 from ${modelJobs} where ${isJob(store, suggestionJob(problem), isPending)})`
  await database.batch([
    ...deletions(store, isFor(problem, isFree)),
    database
      .insert(promptSuggestions)
      .select(
        selectFor(
          promptSuggestions,
          {
            ...draft,
            projectKey,
            problemId,
            requestedAt: act.at,
            keyId: act.keyId,
            userId: act.userId,
            requestId: act.requestId,
            baseVersionId: null,
            model: null,
            answeredAt: null,
            changes: null,
            reasons: null,
          },
          sql`where ${isFree}`,
        ),
      )
      .onConflictDoNothing(),
    recordAct(
      store,
      act,
      { action: 'problem.suggest', targetId: problemId, projectKey, afterId: draft.versionId },
      isFree,
    ),
    requestModelJob(store, { ...suggestionJob(problem), projectKey }, { now: act.at }),
  ])
}

/** A requested suggestion. */
export interface SuggestionRequest extends RequestDraft {
  /** Who asked for it, unless that user has been deleted. */
  act: Omit<Act, 'at'>
  /** Null until the model has answered. */
  answer: { baseVersionId: string; model: string; changes: StoredChange[] } | null
}

/** Finds the latest request for a problem. Undefined if the prompt was deleted. */
export async function findRequest({ database, organization }: Store, problem: OfProblem) {
  const [row] = await database
    .select({
      versionId: promptSuggestions.versionId,
      promptId: promptSuggestions.promptId,
      candidateBefore: promptSuggestions.candidateBefore,
      keyId: promptSuggestions.keyId,
      userId: sql<string | null>`(select ${users.id} from ${users}
        where ${users.organizationKey} = ${organization.key} and ${users.id} = ${promptSuggestions.userId})`,
      requestId: promptSuggestions.requestId,
      baseVersionId: promptSuggestions.baseVersionId,
      model: promptSuggestions.model,
      changes: promptSuggestions.changes,
    })
    .from(promptSuggestions)
    .where(isFor(problem))
    .orderBy(desc(promptSuggestions.requestedAt))
    .limit(1)
  if (!row) return undefined
  const { keyId, userId, requestId, baseVersionId, model, changes, ...request } = row
  const isAnswered = baseVersionId !== null && model !== null && changes !== null
  const answer = isAnswered ? { baseVersionId, model, changes: JSON.parse(changes) } : null
  return { ...request, act: { keyId, userId, requestId }, answer } satisfies SuggestionRequest
}

/** A model's answer. */
export interface SuggestionAnswer {
  versionId: string
  baseVersionId: string
  model: string
  changes: readonly StoredChange[]
  reasons: readonly string[]
  examples: readonly SuggestionExample[]
}

/**
 * An example for a suggestion, with the indexes of the changes that are based on it and the indexes of the changes that
 * contain words copied from it.
 */
export interface SuggestionExample {
  spanId: string
  traceKey: number
  serves: number[]
  copied: number[]
}

const EXAMPLES = rowSet(['spanId', 'traceKey', 'serves', 'copied'])

/**
 * Stores a model's answer. Returns false if the run no longer holds the job, or if the prompt or an example has been
 * deleted. Once the answer is stored, purges find the rows that they have to delete.
 */
export async function saveAnswer(store: Store, job: ModelJob, answer: SuggestionAnswer, now: number): Promise<boolean> {
  const { database, organization } = store
  const { versionId, baseVersionId, model, changes, reasons, examples } = answer
  const { row } = EXAMPLES
  const rows = EXAMPLES.encodeAll(
    examples.map(({ serves, copied, ...each }) => ({
      ...each,
      serves: JSON.stringify(serves),
      copied: JSON.stringify(copied),
    })),
  )
  const isOpen = sql`(${holdsJob(store, job)} and exists (select 1 from ${promptSuggestions}
    where ${promptSuggestions.versionId} = ${versionId} and ${promptSuggestions.answeredAt} is null))`
  const ofVersion = eq(promptSuggestionExamples.versionId, versionId)
  const deleteExamples = () => database.delete(promptSuggestionExamples).where(and(ofVersion, isOpen))
  await database.batch([
    // An interrupted run may have left other examples behind.
    deleteExamples(),
    database
      .insert(promptSuggestionExamples)
      .select(
        selectFor(promptSuggestionExamples, { ...row, versionId }, sql`from ${EXAMPLES.from(rows)} where ${isOpen}`),
      )
      .onConflictDoNothing(),
  ])
  // The traces may be in other databases. If a trace is deleted from here on, its purge finds the example.
  const live = await Promise.all(
    store.shards.map(shard =>
      shard.database.all<{ spanId: string }>(sql`
        select ${row.spanId} as spanId from ${EXAMPLES.from(rows)} where exists (
          select 1 from ${traces} where ${traces.key} = ${row.traceKey}
            and ${traces.organizationKey} = ${organization.key} and ${traces.deletedAt} is null)`),
    ),
  )
  const liveIds = new Set(live.flat().map(({ spanId }) => spanId))
  const isAnyGone = examples.some(({ spanId }) => !liveIds.has(spanId))
  const areComplete = sql`(select count(*) from ${promptSuggestionExamples} where ${ofVersion}) = ${examples.length}`
  const [saved] = isAnyGone
    ? []
    : await database
        .update(promptSuggestions)
        .set({
          baseVersionId,
          model,
          answeredAt: now,
          changes: JSON.stringify(changes),
          reasons: JSON.stringify(reasons),
        })
        .where(and(eq(promptSuggestions.versionId, versionId), holdsJob(store, job), areComplete))
        .returning({ versionId: promptSuggestions.versionId })
  if (!saved) await deleteExamples()
  return saved !== undefined
}

/** Deletes the record of who requested a version once the version is added, because the audit log also has it. */
export async function closeRequest({ database }: Store, versionId: string): Promise<void> {
  await database
    .update(promptSuggestions)
    .set({ keyId: null, userId: null })
    .where(eq(promptSuggestions.versionId, versionId))
}

/** The statements that delete requests that meet a condition and haven't added a version. */
function deletions({ database }: Store, condition: SQL | undefined) {
  const isWithoutVersion = sql`${condition} and not exists (
    select 1 from ${textVersions} where ${textVersions.id} = ${promptSuggestions.versionId})`
  const versionIds = sql`(select ${promptSuggestions.versionId} from ${promptSuggestions} where ${isWithoutVersion})`
  return [
    database.delete(promptSuggestionExamples).where(sql`${promptSuggestionExamples.versionId} in ${versionIds}`),
    database.delete(promptSuggestions).where(isWithoutVersion),
  ] as const
}

/** Deletes a request that failed. */
export async function deleteFailed(store: Store, problemId: string): Promise<void> {
  const ofJob = sql`${promptSuggestions.projectKey} in (
    select ${modelJobs.projectKey} from ${modelJobs} where ${isJob(store, suggestionJob({ problemId }), sql`not ${isPending}`)})`
  await store.database.batch(deletions(store, and(ofJob, eq(promptSuggestions.problemId, problemId))))
}
