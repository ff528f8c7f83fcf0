import { and, asc, desc, eq, gt, isNotNull, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { ItemVerdict } from '../../domain/experiment.ts'
import type { StoredTally } from '../../domain/tally.ts'
import { named, readPlain } from '../core/database.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { holdsJob, type ModelJob } from '../model-jobs/jobs.ts'
import { experimentResults, experiments, resultJudgments } from '../schema/experiments.ts'
import { type ExperimentRecord, ofStore } from './experiments.ts'
import { type ModelJudgment, replaceTally } from './results.ts'

/** A model's judgment of an output, ready to be stored. */
export interface JudgmentDraft extends ModelJudgment {
  itemId: string
  /** Identifies the output. */
  contentHash: string
}

/** An unjudged result that no model has judged. */
export interface Waiting {
  itemId: string
  contentHash: string
}

/**
 * Unjudged results that no model has judged, in the order of their items. Leaves out results that a model tried but
 * failed to judge at or after `since`.
 */
export async function listWaiting(
  { database }: Store,
  { key }: ExperimentRecord,
  { since, after, limit }: { since: number; after: string; limit: number },
): Promise<Waiting[]> {
  const [rows] = await readPlain(database, [
    database
      .select(named({ itemId: experimentResults.itemId, contentHash: experimentResults.contentHash }))
      .from(experimentResults)
      .where(
        and(
          eq(experimentResults.experimentKey, key),
          gt(experimentResults.itemId, after),
          eq(experimentResults.outcome, 'unjudged'),
          sql`not exists (select 1 from ${resultJudgments} where ${isOfResult}
            and (${resultJudgments.saidSame} is not null or ${resultJudgments.judgedAt} >= ${since}))`,
        ),
      )
      .orderBy(asc(experimentResults.itemId))
      .limit(limit),
  ])
  return rows
}

/** Whether a judgment is about a result. Spells out the table names, because drizzle omits them in some queries. */
const isOfResult = sql.raw(
  'result_judgments.experiment_key = experiment_results.experiment_key and result_judgments.item_id = experiment_results.item_id',
)

const JUDGMENTS = rowSet(['itemId', 'contentHash', 'same', 'reason', 'model', 'at'])

/**
 * Stores a model's judgments and the experiment's tally, unless the experiment's results have changed since they were
 * read or the run no longer holds its job. An output keeps its first judgment, but a failed attempt at a judgment can
 * be replaced. Returns whether the judgments were stored. `tally` is null as long as the experiment has none.
 */
export async function saveJudgments(
  store: Store,
  experiment: ExperimentRecord,
  drafts: readonly JudgmentDraft[],
  { job, token, tally }: { job: ModelJob; token: string; tally: StoredTally | null },
): Promise<boolean> {
  const { database, organization } = store
  const { key } = experiment
  const isExperiment = and(eq(experiments.key, key), eq(experiments.organizationKey, organization.key))
  const isOurs = and(isExperiment, eq(experiments.revision, token))
  const { row } = JUDGMENTS
  const rows = JUDGMENTS.encodeAll(
    drafts.map(({ same, ...draft }) => ({ ...draft, same: same === null ? null : Number(same) })),
  )
  const [, , found] = await database.batch([
    replaceTally(store, experiment, { token, tally }, isExperiment, holdsJob(store, job)),
    database
      .insert(resultJudgments)
      .select(
        selectFor(
          resultJudgments,
          {
            experimentKey: key,
            itemId: row.itemId,
            saidSame: row.same,
            verdict: experimentResults.verdict,
            judgedAt: row.at,
            model: row.model,
            reason: row.reason,
          },
          sql`from ${JUDGMENTS.fromWide(rows)} cross join ${experimentResults}
            where ${experimentResults.experimentKey} = ${key} and ${experimentResults.itemId} = ${row.itemId}
              and ${experimentResults.contentHash} = ${row.contentHash}
              and exists (select 1 from ${experiments} where ${isOurs})`,
        ),
      )
      .onConflictDoUpdate({
        target: [resultJudgments.experimentKey, resultJudgments.itemId],
        set: {
          saidSame: sql`excluded.said_same`,
          verdict: sql`excluded.verdict`,
          judgedAt: sql`excluded.judged_at`,
          model: sql`excluded.model`,
          reason: sql`excluded.reason`,
        },
        setWhere: sql`${resultJudgments.saidSame} is null`,
      }),
    database.select({ key: experiments.key }).from(experiments).where(isOurs),
  ])
  return found.length > 0
}

/** Counts the unjudged results that a model couldn't judge, in the whole experiment or in one split. */
export async function countUnanswered({ database }: Store, { key }: ExperimentRecord, split?: string): Promise<number> {
  const [[row]] = await readPlain(database, [
    database
      .select({ count: sql<number>`count(*)`.as('count') })
      .from(resultJudgments)
      .innerJoin(experimentResults, isOfResult)
      .where(
        and(
          eq(resultJudgments.experimentKey, key),
          isNull(resultJudgments.saidSame),
          eq(experimentResults.outcome, 'unjudged'),
          split === undefined ? undefined : eq(experimentResults.split, split),
        ),
      ),
  ])
  return row?.count ?? 0
}

/** How many outputs a model judged to be the same or different, grouped by people's decisions on them. */
export interface AgreementCounts {
  sameAccepted: number
  sameRejected: number
  differentAccepted: number
  differentRejected: number
}

/** Counts the outputs that both a model and a person judged, in one experiment or in all experiments on a step. */
export async function countAgreement(
  store: Store,
  of: Pick<ExperimentRecord, 'key'> | { projectKey: number; stepId: string },
): Promise<AgreementCounts> {
  const { database } = store
  const judged = { saidSame: SAID_SAME, verdict: VERDICT, count: sql<number>`count(*)`.as('count') }
  const groups = [resultJudgments.saidSame, resultJudgments.verdict] as const
  const [rows] = await readPlain(database, [
    'key' in of
      ? database
          .select(judged)
          .from(resultJudgments)
          .where(and(eq(resultJudgments.experimentKey, of.key), IS_DECIDED))
          .groupBy(...groups)
      : database
          .select(judged)
          .from(experiments)
          .crossJoin(resultJudgments)
          .where(isDecidedOn(store, of))
          .groupBy(...groups),
  ])
  const count = (same: 0 | 1, decision: ItemVerdict) =>
    rows.find(({ saidSame, verdict }) => saidSame === same && verdict === decision)?.count ?? 0
  return {
    sameAccepted: count(1, 'accept'),
    sameRejected: count(1, 'reject'),
    differentAccepted: count(0, 'accept'),
    differentRejected: count(0, 'reject'),
  }
}

const SAID_SAME = sql<number>`${resultJudgments.saidSame}`.as('saidSame')
const VERDICT = sql<ItemVerdict>`${resultJudgments.verdict}`.as('verdict')

/** Whether both a model and a person have judged an output. Must match the index's condition. */
const IS_DECIDED = and(isNotNull(resultJudgments.verdict), isNotNull(resultJudgments.saidSame))

/** Whether a judgment is about an output of an experiment on a step, and a person decided on that output. */
const isDecidedOn = (store: Store, { projectKey, stepId }: { projectKey: number; stepId: string }, ...more: SQL[]) =>
  ofStore(
    store,
    eq(experiments.projectKey, projectKey),
    isStep(projectKey, experiments.stepId, stepId),
    eq(resultJudgments.experimentKey, experiments.key),
    IS_DECIDED,
    ...more,
  )

/** An output that both a model and a person judged. */
export interface DecidedJudgment extends Omit<ModelJudgment, 'same'> {
  same: boolean
  experimentKey: number
  experimentId: string
  itemId: string
  verdict: ItemVerdict
  comment: string | null
  reviewedBy: string
  reviewedAt: number
}

/** The place of a `DecidedJudgment`: the key of its experiment, and its item. */
export type JudgmentPlace = readonly [experimentKey: number, itemId: string]

/** The outputs of a step's experiments that both a model and a person judged. Newest experiments come first. */
export async function listDecided(
  store: Store,
  step: { projectKey: number; stepId: string },
  filter: { same: boolean | undefined; verdict: ItemVerdict | undefined },
  { limit, after }: { limit: number; after: JudgmentPlace | undefined },
): Promise<DecidedJudgment[]> {
  const { database } = store
  const { same, verdict } = filter
  const isLater =
    after && or(lt(experiments.key, after[0]), and(eq(experiments.key, after[0]), gt(resultJudgments.itemId, after[1])))
  const conditions = [
    same === undefined ? undefined : eq(resultJudgments.saidSame, same),
    verdict === undefined ? undefined : eq(resultJudgments.verdict, verdict),
    isLater,
  ].flatMap(condition => condition ?? [])
  const [rows] = await readPlain(database, [
    database
      .select({
        ...named({
          experimentKey: experiments.key,
          experimentId: experiments.id,
          itemId: resultJudgments.itemId,
          reason: resultJudgments.reason,
          model: resultJudgments.model,
          at: resultJudgments.judgedAt,
          comment: experimentResults.comment,
          reviewedBy: experimentResults.reviewedBy,
          reviewedAt: experimentResults.reviewedAt,
        }),
        saidSame: SAID_SAME,
        verdict: VERDICT,
      })
      .from(experiments)
      .crossJoin(resultJudgments)
      .innerJoin(
        experimentResults,
        and(
          eq(experimentResults.experimentKey, resultJudgments.experimentKey),
          eq(experimentResults.itemId, resultJudgments.itemId),
        ),
      )
      .where(isDecidedOn(store, step, ...conditions))
      .orderBy(desc(experiments.key), asc(resultJudgments.itemId))
      .limit(limit),
  ])
  return rows.map(({ saidSame, reviewedBy, reviewedAt, ...row }) => ({
    ...row,
    same: saidSame === 1,
    reviewedBy: reviewedBy ?? '',
    reviewedAt: reviewedAt ?? 0,
  }))
}
