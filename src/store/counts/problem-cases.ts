import { type SQL, sql } from 'drizzle-orm'
import { DAY_MS, PURGE_ROWS } from '../../limits.ts'
import { selectFor } from '../core/rows.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { problemCases, problemDays, problemIds } from '../schema/problems.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Statements that keep the cases of problems and their counts up to date. They compare a trace's stored cases with
 * those that follow from its decisions and its answer, and write only the differences, so running them a second time
 * writes nothing.
 */

/** The columns of a case, and their values in a row of `scanned`. */
const COLUMNS = sql.raw('trace_key, span_id, project_key, step_id, error_type, doc_slug, is_by_engine, at')
const SCANNED = {
  traceKey: sql`scanned.trace_key`,
  spanId: sql`scanned.span_id`,
  projectKey: sql`scanned.project_key`,
  stepId: sql`scanned.step_id`,
  errorType: sql`scanned.error_type`,
  docSlug: sql`scanned.doc_slug`,
  isByEngine: sql`scanned.is_by_engine`,
  at: sql`scanned.at`,
}

/**
 * The step at fault: the step that the trace's answer blames, unless a reviewer chose a different error type. In that
 * case, or if the answer blames no step, it's the reviewed step.
 */
const faultyStep = sql`case when decided.error_type is null or decided.error_type = answer.error_type
  then coalesce(nullif(answer.step_id, ''), decided.step_id) else decided.step_id end`

/** The doc that the answer cites, if the case has the answer's error type. Otherwise ''. */
const citedDoc = sql`iif(decided.error_type is null or decided.error_type = answer.error_type,
  coalesce(answer.doc_slug, ''), '')`

const isInForce = (span: string, review: string): SQL => {
  const [own, decided] = [sql.raw(span), sql.raw(review)]
  return sql`(${own}.trace_key = changed.key and ${own}.review_state is not null and ${decided}.trace_key = changed.key
    and ${decided}.span_id = ${own}.id and ${decided}.number = ${own}.review_number)`
}

/**
 * The cases that follow from the traces' current decisions and latest answers. Decisions and answers from before the
 * service kept counts yield no cases.
 */
const casesNow = (ofTraces: SQL | undefined): SQL => {
  const changed = sql`(
    select ${traces.key} as key, ${traces.rootSpanId} as root_span_id from ${traces} where ${ofTraces}) as changed`
  const isAnswer = sql`answer.trace_key = job.trace_key and answer.number = job.attribution_number
    and answer.step_id is not null`
  return sql`(
    select decided.trace_key as trace_key, decided.span_id as span_id, decided.project_key as project_key,
      ${faultyStep} as step_id, coalesce(decided.error_type, answer.error_type, '') as error_type,
      ${citedDoc} as doc_slug, (decided.error_type is null and answer.error_type is not null) as is_by_engine,
      decided.created_at as at
    from ${changed} cross join ${spans} as own cross join ${reviews} as decided
      left join ${attributionJobs} as job on job.trace_key = changed.key
      left join ${attributions} as answer on ${isAnswer}
    where ${isInForce('own', 'decided')} and own.review_state = 'corrected' and decided.step_id is not null
    union all
    select answer.trace_key, coalesce(decided.span_id, answer.span_id, ''), answer.project_key,
      coalesce(${faultyStep}, root.step_id, ''), coalesce(decided.error_type, answer.error_type),
      ${citedDoc}, decided.error_type is null, coalesce(decided.created_at, answer.created_at)
    from ${changed} cross join ${attributionJobs} as job cross join ${attributions} as answer
      left join ${reviews} as decided on (decided.trace_key, decided.span_id, decided.number) = (
        select naming.trace_key, naming.span_id, naming.number from ${spans} as named cross join ${reviews} as naming
        where ${isInForce('named', 'naming')} and naming.error_type is not null and naming.step_id is not null
        order by naming.created_at desc, naming.span_id desc limit 1)
      left join ${spans} as root on root.id = changed.root_span_id and root.trace_key = changed.key
    where job.trace_key = changed.key and ${isAnswer} and not exists (
      select 1 from ${spans} as own where own.trace_key = changed.key and own.review_state = 'corrected'))`
}

const NONE = { byReviewers: 0, byEngine: 0, expiredByReviewers: 0, expiredByEngine: 0 }

/** The statement that adds cases to the counts of their days. Each row of `cases` adds its `sign`. */
function countCases({ database }: Pick<Store, 'database'>, cases: SQL, as: 'counted' | 'expired') {
  const byReviewers = sql`sum(iif(scanned.is_by_engine, 0, scanned.sign))`
  const byEngine = sql`sum(iif(scanned.is_by_engine, scanned.sign, 0))`
  const counts =
    as === 'counted' ? { byReviewers, byEngine } : { expiredByReviewers: byReviewers, expiredByEngine: byEngine }
  const { projectKey, day, stepId, errorType, docSlug } = problemDays
  return database
    .insert(problemDays)
    .select(
      selectFor(
        problemDays,
        {
          projectKey: SCANNED.projectKey,
          day: sql`scanned.at / ${sql.raw(String(DAY_MS))}`,
          stepId: SCANNED.stepId,
          errorType: SCANNED.errorType,
          docSlug: SCANNED.docSlug,
          ...NONE,
          ...counts,
        },
        sql`from ${cases} as scanned group by 1, 2, 3, 4, 5 having ${byReviewers} <> 0 or ${byEngine} <> 0`,
      ),
    )
    .onConflictDoUpdate({
      target: [projectKey, day, stepId, errorType, docSlug],
      set: {
        byReviewers: sql`${problemDays.byReviewers} + excluded.by_reviewers`,
        byEngine: sql`${problemDays.byEngine} + excluded.by_engine`,
        expiredByReviewers: sql`${problemDays.expiredByReviewers} + excluded.expired_by_reviewers`,
        expiredByEngine: sql`${problemDays.expiredByEngine} + excluded.expired_by_engine`,
      },
    })
}

/**
 * The statements that bring the cases of traces up to date. Run them after the decisions and answers are current.
 * `ofTraces` is a condition on traces that aren't deleted.
 */
export function updateCases(store: Pick<Store, 'database'>, ofTraces: SQL | undefined) {
  const { database } = store
  const now = casesNow(ofTraces)
  const isStored = sql`trace_key in (select ${traces.key} from ${traces} where ${ofTraces})`
  return [
    countCases(
      store,
      sql`(select ${COLUMNS}, 1 as sign from ${now}
        union all select ${COLUMNS}, -1 from ${problemCases} where ${isStored})`,
      'counted',
    ),
    database.delete(problemCases).where(sql`${isStored} and (${COLUMNS}) not in ${now}`),
    database
      .insert(problemCases)
      .select(selectFor(problemCases, SCANNED, sql`from ${now} as scanned where true`))
      .onConflictDoNothing(),
    database
      .insert(problemIds)
      .select(
        selectFor(
          problemIds,
          {
            projectKey: SCANNED.projectKey,
            stepId: readStepId(SCANNED.projectKey, SCANNED.stepId),
            errorType: SCANNED.errorType,
            docSlug: SCANNED.docSlug,
            id: null,
          },
          sql`from ${now} as scanned where true`,
        ),
      )
      .onConflictDoNothing(),
  ] as const
}

/**
 * Deletes some of a deleted trace's cases and returns whether there may be more. If the trace was deleted explicitly,
 * subtracts the cases from the counts. If the trace expired, counts the cases as expired. If the project is gone, its
 * counts are gone too, so there's nothing to update.
 */
export async function deleteCases(
  store: Store,
  traceKey: number,
  counts: 'subtract' | 'expire' | 'keep',
): Promise<boolean> {
  const { database } = store
  const piece = sql`(trace_key, span_id) in (
    select trace_key, span_id from ${problemCases} where trace_key = ${traceKey} order by span_id limit ${PURGE_ROWS})`
  const deletion = database.delete(problemCases).where(piece)
  if (counts === 'keep') return (await deletion).meta.changes === PURGE_ROWS
  const isSubtracted = counts === 'subtract'
  const cases = sql`(select ${COLUMNS}, ${sql.raw(isSubtracted ? '-1' : '1')} as sign from ${problemCases} where ${piece})`
  const [, { meta }] = await database.batch([countCases(store, cases, isSubtracted ? 'counted' : 'expired'), deletion])
  return meta.changes === PURGE_ROWS
}
