import { and, isNull, type SQL, sql } from 'drizzle-orm'
import type { ProblemKey, ProblemState } from '../../domain/problem.ts'
import { DAY_MS, MAX_PROBLEM_EXAMPLES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { readShards, sumRows } from '../core/across.ts'
import { chunkRows } from '../core/chunks.ts'
import { readPlain } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import type { DayRange } from '../insights/insights.ts'
import { stepNames, users } from '../schema/accounts.ts'
import { reviewDays } from '../schema/counts.ts'
import { problemCases, problemDays, problemIds, problems } from '../schema/problems.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/** What people decided about a problem. */
export interface ProblemDecision {
  isDismissed: boolean
  note: string | null
  /** Null if nobody is assigned or the user has been deleted. */
  assigneeId: string | null
  candidateVersionId: string | null
  candidateAt: number | null
  /** `{experimentId, items, fixed}` as JSON. See `saveProof`. */
  proof: string | null
  /** The state that webhooks last reported, or null. */
  knownState: ProblemState | null
  /** '' if nobody has decided anything. */
  revision: string
}

/** A problem with its counts in a range of days. */
export interface CountedProblem extends ProblemKey, ProblemDecision {
  /** Null if it isn't stored yet. */
  id: string | null
  byReviewers: number
  byEngine: number
  /** The number of cases in the preceding range of the same length. */
  before: number
  /** The last day with cases. Null if the range has none. */
  lastDay: number | null
}

/** A position in the list, which is sorted by number of cases, highest first. */
export type ProblemPlace = readonly [count: number, stepId: string, errorType: string, docSlug: string]

interface ProblemQuery {
  days: DayRange
  limit: number
  after?: ProblemPlace | undefined
  /** Only problems that somebody has dismissed or has linked a candidate to. */
  isDecided?: boolean
  /** Only this problem, even if it has no cases in the range. */
  only?: ProblemKey
}

/**
 * Lists up to `limit` of a project's problems: those with cases in the range, and those with a candidate. Reads counters
 * instead of cases: at most one row for each problem and day in the range and the preceding one.
 */
export async function selectProblems(
  store: Store,
  project: Pick<Project, 'key'>,
  { days, limit, after, isDecided, only }: ProblemQuery,
): Promise<CountedProblem[]> {
  const { control, databases } = store
  const counted = databases.length === 1 ? countsOf(project, days) : await sumCounts(store, project, days)
  // A renamed step may have several rows. The columns are those of the most recently changed row.
  const decided = sql`
    select ${readStepId(problems.projectKey, problems.stepId)} as step_id, ${problems.errorType} as error_type, ${problems.docSlug} as doc_slug,
      ${problems.isDismissed} as is_dismissed, ${problems.note} as note, ${problems.candidateVersionId} as version_id,
      (select ${users.id} from ${users} where ${users.organizationKey} = ${control.organization.key}
        and ${users.id} = ${problems.assigneeId}) as assignee_id,
      ${problems.candidateAt} as candidate_at, ${problems.proof} as proof, ${problems.knownState} as known_state,
      ${problems.revision} as revision,
      max(${problems.updatedAt}) as updated_at
    from ${problems} where ${problems.projectKey} = ${project.key} group by 1, 2, 3`
  const isSame = sql`(listed.step_id = scanned.step_id and listed.error_type = scanned.error_type
    and listed.doc_slug = scanned.doc_slug)`
  const count = sql`coalesce(scanned.by_reviewers + scanned.by_engine, 0)`
  const key = (column: string) => sql.raw(`coalesce(scanned.${column}, listed.${column})`)
  const [stepId, errorType, docSlug] = [key('step_id'), key('error_type'), key('doc_slug')]
  const conditions = [
    only
      ? sql`(${stepId}, ${errorType}, ${docSlug}) = (${only.stepId}, ${only.errorType}, ${only.docSlug})`
      : sql`(${count} > 0 or listed.version_id is not null)`,
    ...(isDecided ? [sql`(listed.is_dismissed = 1 or listed.version_id is not null)`] : []),
    ...(after
      ? [sql`(-${count}, ${stepId}, ${errorType}, ${docSlug}) > (${-after[0]}, ${after[1]}, ${after[2]}, ${after[3]})`]
      : []),
  ]
  const rows = await control.database.all<Omit<CountedProblem, 'isDismissed'> & { isDismissed: number }>(sql`
    with scanned as materialized (${counted}), listed as materialized (${decided})
    select ${stepId} as stepId, ${errorType} as errorType, ${docSlug} as docSlug,
      ${databases.length === 1 ? storedId(project, stepId, errorType, docSlug) : sql`scanned.id`} as id,
      coalesce(scanned.by_reviewers, 0) as byReviewers, coalesce(scanned.by_engine, 0) as byEngine,
      coalesce(scanned.before, 0) as before, scanned.last_day as lastDay,
      coalesce(listed.is_dismissed, 0) as isDismissed, listed.note as note, listed.assignee_id as assigneeId,
      listed.version_id as candidateVersionId, listed.candidate_at as candidateAt, listed.proof as proof,
      listed.known_state as knownState,
      coalesce(listed.revision, '') as revision
    from scanned full join listed on ${isSame}
    where ${sql.join(conditions, sql` and `)}
    order by -${count}, ${stepId}, ${errorType}, ${docSlug} limit ${limit}`)
  return rows.map(({ isDismissed, ...row }) => ({ ...row, isDismissed: isDismissed === 1 }))
}

/** The id of a problem in `problem_ids`. Null if it isn't stored. */
const storedId = ({ key }: Pick<Project, 'key'>, stepId: SQL, errorType: SQL, docSlug: SQL): SQL => sql`(
  select ${problemIds.id} from ${problemIds} where ${problemIds.projectKey} = ${key}
    and ${problemIds.stepId} = ${stepId} and ${problemIds.errorType} = ${errorType} and ${problemIds.docSlug} = ${docSlug})`

/** The query for a database's counts of each problem's cases. */
function countsOf({ key }: Pick<Project, 'key'>, { from, to }: DayRange): SQL {
  const isInRange = sql`${problemDays.day} >= ${from}`
  const sum = (count: SQL, condition: SQL) => sql`sum(iif(${condition}, ${count}, 0))`
  const all = sql`${problemDays.byReviewers} + ${problemDays.byEngine}`
  return sql`
    select ${readStepId(problemDays.projectKey, problemDays.stepId)} as step_id, ${problemDays.errorType} as error_type,
      ${problemDays.docSlug} as doc_slug,
      ${sum(sql`${problemDays.byReviewers}`, isInRange)} as by_reviewers,
      ${sum(sql`${problemDays.byEngine}`, isInRange)} as by_engine,
      ${sum(all, sql`not ${isInRange}`)} as before,
      max(iif(${isInRange} and ${all} > 0, ${problemDays.day}, null)) as last_day
    from ${problemDays}
    where ${problemDays.projectKey} = ${key} and ${problemDays.day} >= ${2 * from - to} and ${problemDays.day} < ${to}
    group by 1, 2, 3`
}

const COUNTS = rowSet(['step_id', 'error_type', 'doc_slug', 'by_reviewers', 'by_engine', 'before', 'last_day', 'id'])

interface Counts extends Record<'step_id' | 'error_type' | 'doc_slug', string> {
  by_reviewers: number
  by_engine: number
  before: number
  last_day: number | null
  id: string | null
}

/** Adds up the counts of several databases. The result has the columns of `countsOf`, and the problems' ids. */
async function sumCounts(store: Store, project: Pick<Project, 'key'>, days: DayRange): Promise<SQL> {
  const [stepId, errorType, docSlug] = ['step_id', 'error_type', 'doc_slug'].map(name => sql.raw(`scanned.${name}`))
  const found = await readShards(store, ({ database }) =>
    database.all<Counts>(sql`
      with scanned as materialized (${countsOf(project, days)})
      select scanned.*, ${storedId(project, sql`${stepId}`, sql`${errorType}`, sql`${docSlug}`)} as id from scanned`),
  )
  const rows = sumRows(
    found,
    ({ step_id, error_type, doc_slug }) => [step_id, error_type, doc_slug],
    counts => {
      const total = (field: 'by_reviewers' | 'by_engine' | 'before') =>
        counts.reduce((sum, each) => sum + each[field], 0)
      const lastDays = counts.flatMap(({ last_day }) => last_day ?? [])
      return {
        ...counts[0],
        by_reviewers: total('by_reviewers'),
        by_engine: total('by_engine'),
        before: total('before'),
        last_day: lastDays.length === 0 ? null : Math.max(...lastDays),
        id: counts.find(({ id }) => id !== null)?.id ?? null,
      }
    },
  )
  const columns = Object.entries(COUNTS.row).map(([name, value]) => sql`${value} as ${sql.raw(name)}`)
  const parameters = [COUNTS.encodeAll([]), ...[...chunkRows(rows, COUNTS.encode)].map(({ json }) => json)]
  const selects = parameters.map(json => sql`select ${sql.join(columns, sql`, `)} from ${COUNTS.from(json)}`)
  return sql.join(selects, sql` union all `)
}

/** What a list shows about a problem besides its own counts. */
export interface ProblemDetails {
  /** The number of decisions on its step in the range. */
  decisions: number
  /**
   * The newest cases in the range: the reviewed spans, or the spans that the engine blames. Leaves out the cases of
   * traces whose answers are hidden from the viewer.
   */
  examples: { spanId: string; at: number }[]
}

const KEYS = rowSet(['number', 'stepId', 'errorType', 'docSlug'])

/**
 * Reads the details of problems, in the same order, in one round trip. For each problem and each name of its step,
 * reads only the newest cases.
 */
export async function readProblemDetails(
  store: Store,
  project: Pick<Project, 'key'>,
  listed: readonly ProblemKey[],
  days: DayRange,
): Promise<ProblemDetails[]> {
  const found = await readShards(store, shard => readDetails(shard, project, listed, days))
  return listed.map((_, index) => {
    const details = found.flatMap(each => each[index] ?? [])
    return {
      decisions: details.reduce((sum, { decisions }) => sum + decisions, 0),
      examples: newest(details.flatMap(({ examples }) => examples)),
    }
  })
}

const newest = (examples: ProblemDetails['examples']): ProblemDetails['examples'] =>
  examples.toSorted((left, right) => right.at - left.at).slice(0, MAX_PROBLEM_EXAMPLES)

/** The details of problems in one database. */
async function readDetails(
  store: Store,
  project: Pick<Project, 'key'>,
  listed: readonly ProblemKey[],
  { from, to }: DayRange,
): Promise<ProblemDetails[]> {
  const { database } = store
  const { row } = KEYS
  const given = KEYS.from(KEYS.encodeAll(listed.map((problem, number) => ({ ...problem, number }))))
  const names = sql`(
    select ${row.number} as number, ${row.stepId} as name, ${row.errorType} as error_type, ${row.docSlug} as doc_slug from ${given}
    union all
    select ${row.number}, other.old_name, ${row.errorType}, ${row.docSlug} from ${given} cross join ${stepNames} as other
    where other.project_key = ${project.key} and other.new_name = ${row.stepId} and other.old_name <> ${row.stepId}) as scanned`
  const newestCases = sql`
    select json_array(coalesce(own.id, ${traces.rootSpanId}), newest.at) as example
    from ${problemCases} as newest cross join ${traces}
      left join ${spans} as own on own.id = newest.span_id and own.trace_key = newest.trace_key
    where newest.project_key = ${project.key} and newest.step_id = scanned.name and newest.error_type = scanned.error_type
      and newest.doc_slug = scanned.doc_slug and newest.at >= ${from * DAY_MS} and newest.at < ${to * DAY_MS}
      and ${and(sql`${traces.key} = newest.trace_key`, isNull(traces.deletedAt), isAnswerShown(store))}
    order by newest.at desc, newest.trace_key desc, newest.span_id desc limit ${MAX_PROBLEM_EXAMPLES}`
  const decidedStep = readStepId(reviewDays.projectKey, reviewDays.stepId)
  const [found, steps] = await readPlain(database, [
    database
      .select({
        number: sql<number>`scanned.number`.as('number'),
        examples: sql<string>`(select json_group_array(json(example)) from (${newestCases}))`.as('examples'),
      })
      .from(names),
    database
      .select({
        stepId: decidedStep.as('stepId'),
        decisions: sql<number>`sum(${reviewDays.accepted} + ${reviewDays.corrected})`.as('decisions'),
      })
      .from(reviewDays)
      .where(
        sql`${reviewDays.projectKey} = ${project.key} and ${reviewDays.day} >= ${from} and ${reviewDays.day} < ${to}`,
      )
      .groupBy(decidedStep),
  ])
  const decisionsOf = new Map(steps.map(({ stepId, decisions }) => [stepId, decisions]))
  const examplesOf = Map.groupBy(found, ({ number }) => number)
  return listed.map(({ stepId }, number) => ({
    decisions: decisionsOf.get(stepId) ?? 0,
    examples: (examplesOf.get(number) ?? []).flatMap(({ examples }) => toExamples(JSON.parse(examples))),
  }))
}

const toExamples = (rows: [spanId: string, at: number][]) => rows.map(([spanId, at]) => ({ spanId, at }))
