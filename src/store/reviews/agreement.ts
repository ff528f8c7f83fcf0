import { type SQL, sql } from 'drizzle-orm'
import type { Judgment, Vote, VotedOutputs } from '../../domain/reviewer-agreement.ts'
import {
  DAY_MS,
  MAX_COMPARED_OUTPUTS,
  MAX_DIFFERING_OUTPUTS,
  MAX_SCANNED_VOTES,
  SHOWN_COMMENT_LENGTH,
} from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { mergePages, oldestOf, placeOrder, sumRows } from '../core/across.ts'
import { hasBlindPolicy } from '../core/review-policy.ts'
import { isReviewed } from '../core/reviewable.ts'
import { isStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { reviews, votes } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLiveIn } from '../traces/live.ts'

/*
 * The votes that are compared. An output counts once, no matter how often it was voted on. Only independent votes
 * count: those cast under a blind policy, on a span in the policy's sample, before anybody decided on the output. All
 * other votes are compared separately. Of a reviewer's votes on an output, only the first one counts, unless the
 * reviewer withdrew it.
 */

/** Conditions on outputs. Undefined fields don't filter. */
export interface AgreementFilter {
  stepId?: string | undefined
  /** The time of an output's first vote; inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
}

/** A filter for each of several databases, so that they share the limits. */
interface BoundedFilter extends AgreementFilter {
  /** Outputs without a vote at or after this time aren't read. */
  scannedFrom?: number | undefined
}

/** A vote, or an adjudicator's decision. */
interface ShownJudgment extends Judgment {
  userId: string
  at: number
  /** The comment, or its beginning if it's long. */
  comment: string | null
}

/** An output that reviewers voted on. */
export interface VotedOutput {
  traceId: string
  spanId: string
  outputRevision: string
  stepId: string
  /** The time of its first vote. */
  at: number
  votes: ShownJudgment[]
  adjudication: ShownJudgment | null
}

interface ComparedVotes {
  /** The votes that count. */
  counted: VotedOutputs[]
  apart: VotedOutputs[]
  /** The outputs on which the counted votes differ most. */
  differing: VotedOutput[]
  /** Whether there are more outputs than were read. */
  isCut: boolean
}

/**
 * Reads the votes on the newest outputs, in one round trip. With several databases, takes one or two more round trips.
 */
export async function compareVotes(store: Store, project: Project, filter: AgreementFilter): Promise<ComparedVotes> {
  const { bounded, isCut } = await shareLimits(store, project, filter)
  const found = await Promise.all(store.shards.map(shard => compareIn(shard, project, bounded)))
  const patterns = sumRows(
    found.map(rows => rows.filter(row => row.kind === 'pattern')),
    ({ isCounted, stepId, at, votes, adjudication }) => [isCounted, stepId, at, votes, adjudication ?? ''],
    rows => ({ ...rows[0], count: rows.reduce((sum, { count }) => sum + count, 0) }),
  )
  const differing = found.map(rows => rows.filter(row => row.kind === 'output').map(toOutput))
  return {
    counted: patterns.filter(({ isCounted }) => isCounted === 1).map(toVotedOutputs),
    apart: patterns.filter(({ isCounted }) => isCounted === 0).map(toVotedOutputs),
    differing: found.length === 1 ? differing.flat() : mostDiffering(differing.flat()),
    isCut: isCut || found.some(rows => rows.some(row => row.kind === 'total' && isTotalCut(row))),
  }
}

const isTotalCut = ({ count, isCounted }: Pick<TotalRow, 'count' | 'isCounted'>): boolean =>
  count >= MAX_SCANNED_VOTES || isCounted > MAX_COMPARED_OUTPUTS

/** Merges outputs from several databases, in the order in which a query returns those of a single database. */
const mostDiffering = (outputs: readonly VotedOutput[]): VotedOutput[] => {
  const rankOf = ({ votes, at, spanId, outputRevision }: VotedOutput) => {
    const accepts = votes.filter(({ decision }) => decision === 'accept').length
    const types = new Set(votes.flatMap(({ errorType }) => errorType ?? []))
    const share = (accepts * (votes.length - accepts)) / (votes.length * (votes.length - 1))
    return [share, types.size, at, spanId, outputRevision]
  }
  const compare = placeOrder('descending')
  return outputs.toSorted((one, other) => compare(rankOf(one), rankOf(other))).slice(0, MAX_DIFFERING_OUTPUTS)
}

/**
 * Adjusts a filter so that several databases together read no more votes and outputs than a single database would. If
 * there's only one database, reads nothing.
 */
async function shareLimits(
  store: Store,
  project: Project,
  filter: AgreementFilter,
): Promise<{ bounded: BoundedFilter; isCut: boolean }> {
  const { shards } = store
  if (shards.length === 1) return { bounded: filter, isCut: false }
  const listings = await Promise.all(shards.map(shard => listTimes(shard, project, filter)))
  const total = {
    count: listings.reduce((sum, { votes }) => sum + votes, 0),
    isCounted: listings.reduce((sum, { outputs }) => sum + outputs.length, 0),
  }
  const isCut = isTotalCut(total)
  if (!isCut) return { bounded: filter, isCut }
  const voteTimes =
    total.count > MAX_SCANNED_VOTES
      ? await Promise.all(shards.map(shard => listVoteTimes(shard, project, filter)))
      : undefined
  const scannedFrom = voteTimes && oldestOf(voteTimes, MAX_SCANNED_VOTES)
  const scanned = { ...filter, scannedFrom }
  const outputs = voteTimes
    ? (await Promise.all(shards.map(shard => listTimes(shard, project, scanned)))).map(({ outputs }) => outputs)
    : listings.map(({ outputs }) => outputs)
  return { bounded: { ...scanned, from: oldestOf(outputs, MAX_COMPARED_OUTPUTS) ?? filter.from }, isCut }
}

/** The number of votes to read in a database, and the times of the outputs that they're on. */
async function listTimes(
  store: Store,
  project: Project,
  filter: BoundedFilter,
): Promise<{ votes: number; outputs: number[] }> {
  const [row] = await store.database.all<{ votes: number; outputs: string }>(sql`
    ${withOutputs(store, project, filter)}
    select (select count(*) from scanned) as votes, (select json_group_array(listed.at) from listed) as outputs`)
  return { votes: row?.votes ?? 0, outputs: JSON.parse(row?.outputs ?? '[]') }
}

/** The times of the newest votes in a database. */
async function listVoteTimes({ database }: Store, project: Project, filter: AgreementFilter): Promise<number[]> {
  const [row] = await database.all<{ times: string }>(sql`
    select json_group_array(scanned.first_at) as times from (${newestVotes(project, filter)}) as scanned`)
  return JSON.parse(row?.times ?? '[]')
}

const compareIn = (
  store: Store,
  project: Project,
  filter: BoundedFilter,
): Promise<(TotalRow | PatternRow | OutputRow)[]> =>
  store.database.all<TotalRow | PatternRow | OutputRow>(sql`
    ${withOutputs(store, project, filter)}
    select 'total' as kind, (select count(*) from scanned) as count, (select count(*) from seen) as isCounted,
      null as stepId, null as at, null as votes, null as adjudication,
      null as traceId, null as spanId, null as outputRevision
    union all
    select 'pattern', count(*), listed.is_counted, ${stepOf(project)}, ${week}, listed.labels, listed.adjudication,
      null, null, null
    from listed group by 3, 4, 5, 6, 7
    union all
    select scanned.* from (
      select 'output', 1, 1, ${outputFields(project)} from listed
      where listed.is_counted = 1 and ${differs('decision')} + ${differs('errorType')} > 0
      order by cast(listed.accepts * (listed.votes - listed.accepts) as real) / (listed.votes * (listed.votes - 1)) desc,
        listed.error_types desc, ${NEWEST_FIRST}
      limit ${MAX_DIFFERING_OUTPUTS}) as scanned`)

/** Conditions on the listed outputs. Undefined fields don't filter. */
export interface OutputFilter extends AgreementFilter {
  isCounted: boolean
  /** Only outputs with at least two labels of this kind, so that they can be compared. */
  label?: keyof Judgment | undefined
  /** Whether these labels are all the same. */
  isAgreed?: boolean | undefined
  /** Only outputs on which this reviewer voted. */
  reviewerId?: string | undefined
  /** Compares this reviewer's label only with another voter's, or with the adjudicator's. */
  with?: { reviewerId: string } | 'adjudicator' | undefined
}

/** A place in the list, newest first. A page starts after it. */
export interface OutputPlace {
  at: number
  spanId: string
  outputRevision: string
}

type PlaceValues = [at: number, spanId: string, outputRevision: string]

/** A page of the outputs that `compareVotes` compares, newest first. Takes as many round trips as `compareVotes`. */
export async function listVotedOutputs(
  store: Store,
  project: Project,
  filter: OutputFilter,
  page: { limit: number; after: OutputPlace | undefined },
): Promise<{ items: VotedOutput[]; nextPlace: PlaceValues | null }> {
  const { bounded } = await shareLimits(store, project, filter)
  const pages = await Promise.all(store.shards.map(shard => listIn(shard, project, { ...filter, ...bounded }, page)))
  return mergePages(pages, { limit: page.limit, placeOf: placeOfOutput, compare: placeOrder('descending') })
}

const placeOfOutput = ({ at, spanId, outputRevision }: VotedOutput): PlaceValues => [at, spanId, outputRevision]

async function listIn(
  store: Store,
  project: Project,
  filter: OutputFilter & BoundedFilter,
  { limit, after }: { limit: number; after: OutputPlace | undefined },
): Promise<{ items: VotedOutput[]; nextPlace: PlaceValues | null }> {
  const rows = await store.database.all<OutputRow>(sql`
    ${withOutputs(store, project, filter)}
    select 'output' as kind, ${outputFields(project)} from listed
    where listed.is_counted = ${Number(filter.isCounted)} and ${hasLabels(filter)}
      ${
        after
          ? sql`and (listed.at, listed.span_id, listed.output_revision) < (${after.at}, ${after.spanId}, ${after.outputRevision})`
          : sql``
      }
    order by ${NEWEST_FIRST} limit ${limit + 1}`)
  const items = rows.slice(0, limit).map(toOutput)
  const last = items.at(-1)
  return { items, nextPlace: rows.length > limit && last ? placeOfOutput(last) : null }
}

function hasLabels({ label, isAgreed, reviewerId, with: other }: OutputFilter): SQL {
  const ofVote = (field: keyof Vote, id: string) => sql`(
    select item.value ->> ${field} from json_each(listed.labels) as item where item.value ->> 'userId' = ${id})`
  const isVoter = reviewerId === undefined ? sql`true` : sql`${ofVote('userId', reviewerId)} is not null`
  if (label === undefined) return isVoter
  if (reviewerId === undefined || other === undefined) {
    const count = label === 'decision' ? sql`listed.votes` : sql`listed.named`
    const isLabeled = reviewerId === undefined ? isVoter : sql`${ofVote(label, reviewerId)} is not null`
    const isMatch = isAgreed === undefined ? sql`true` : sql`${differs(label)} = ${Number(!isAgreed)}`
    return sql`(${isLabeled} and ${count} > 1 and ${isMatch})`
  }
  const labels = [
    ofVote(label, reviewerId),
    other === 'adjudicator' ? sql`(listed.adjudication ->> ${label})` : ofVote(label, other.reviewerId),
  ] as const
  // Null if either label is null.
  const isSame = sql`${labels[0]} = ${labels[1]}`
  return isAgreed === undefined ? sql`(${isSame}) is not null` : sql`(${isSame}) = ${Number(isAgreed)}`
}

/** How many votes and outputs were found. */
interface TotalRow {
  kind: 'total'
  count: number
  /** The number of outputs. */
  isCounted: number
}

/** Outputs with the same votes. */
interface PatternRow {
  kind: 'pattern'
  count: number
  isCounted: number
  stepId: string
  /** The day that the week began on, as in `week`. */
  at: number
  votes: string
  adjudication: string | null
}

interface OutputRow extends Omit<VotedOutput, 'votes' | 'adjudication'> {
  kind: 'output'
  votes: string
  adjudication: string | null
}

const toVotedOutputs = ({ stepId, at, votes, adjudication, count }: PatternRow): VotedOutputs => ({
  stepId,
  week: at,
  votes: JSON.parse(votes),
  adjudication: adjudication === null ? null : JSON.parse(adjudication),
  count,
})

const toOutput = ({ kind, votes, adjudication, ...output }: OutputRow): VotedOutput => ({
  ...output,
  votes: JSON.parse(votes),
  adjudication: adjudication === null ? null : JSON.parse(adjudication),
})

/** The current row of `listed` in the form of an `OutputRow`, but without its `kind`. */
const outputFields = (project: Project): SQL => sql`${stepOf(project)} as stepId, listed.at as at,
  (select json_group_array(json_object('userId', shown.user_id, 'at', shown.first_at, 'decision', shown.first_decision,
      'errorType', shown.first_error_type, 'comment', ${beginning(sql`shown.comment`)}))
    from ${votes} as shown where shown.trace_key = listed.trace_key and shown.span_id = listed.span_id
      and shown.output_revision = listed.output_revision and shown.decision <> 'reset'
      and ${isCounted('shown')} = listed.is_counted) as votes,
  (select json_object('userId', adjudicated.user_id, 'at', adjudicated.created_at,
      'decision', adjudicated.decision, 'errorType', adjudicated.error_type,
      'comment', ${beginning(sql`adjudicated.comment`)})
    from ${reviews} as adjudicated where ${isAdjudication('listed')}) as adjudication,
  listed.trace_id as traceId, listed.span_id as spanId, listed.output_revision as outputRevision`

const beginning = (comment: SQL): SQL => sql`substr(${comment}, 1, ${SHOWN_COMMENT_LENGTH})`

/** The Monday of an output's week, in days since January 1, 1970, which was a Thursday. */
const week = sql.raw(`(listed.at / ${DAY_MS} - (listed.at / ${DAY_MS} + 3) % 7)`)

const NEWEST_FIRST = sql`listed.at desc, listed.span_id desc, listed.output_revision desc`

const stepOf = ({ key }: Project): SQL => readStepId(sql`${key}`, sql`listed.step_id`)

/** Whether an output's labels differ. */
const differs = (label: keyof Judgment): SQL =>
  label === 'decision' ? sql`(listed.accepts between 1 and listed.votes - 1)` : sql`(listed.error_types > 1)`

/**
 * Whether a vote counts (1 or 0). A vote after a decision on the output doesn't count, even if the decision was reset,
 * because the reviewer could have seen the decision.
 */
const isCounted = (alias: string): SQL => {
  const vote = sql.raw(alias)
  return sql`(${vote}.is_blind = 1 and ${vote}.is_sampled = 1 and (${vote}.round = 0 or not exists (
    select 1 from ${reviews} as earlier where earlier.trace_key = ${vote}.trace_key and earlier.span_id = ${vote}.span_id
      and earlier.number <= ${vote}.round and earlier.output_revision = ${vote}.output_revision
      and earlier.decision <> 'reset')))`
}

/** Whether a row of `reviews` is the adjudicator's decision that ended the voting on an output. */
const isAdjudication = (alias: string): SQL => {
  const output = sql.raw(alias)
  return sql`(adjudicated.trace_key = ${output}.trace_key and adjudicated.span_id = ${output}.span_id
    and adjudicated.number = ${output}.round + 1 and adjudicated.output_revision = ${output}.output_revision
    and adjudicated.basis = 'adjudication')`
}

/**
 * The beginning of a statement. `scanned` has the newest votes, `seen` has their outputs, and `listed` has the newest
 * outputs that the viewer may see. An output with votes of both kinds is listed twice.
 */
function withOutputs(store: Store, project: Project, { stepId, scannedFrom, ...range }: BoundedFilter): SQL {
  const scannedRange = { ...range, from: Math.max(range.from ?? 0, scannedFrom ?? 0) }
  return sql`
    with scanned as materialized (${newestVotes(project, scannedRange)}), voted as materialized (
      select distinct trace_key, span_id, output_revision from scanned
    ), labeled as (
      select own.trace_key, own.span_id, own.output_revision, own.user_id, ${isCounted('own')} as is_counted,
        min(own.first_at) as at, own.step_id, own.round, own.first_decision as decision, own.first_error_type as error_type
      from voted cross join ${votes} as own
      where own.trace_key = voted.trace_key and own.span_id = voted.span_id
        and own.output_revision = voted.output_revision and own.decision <> 'reset'
        ${stepId === undefined ? sql`` : sql`and ${isStep(project.key, sql`own.step_id`, stepId)}`}
      group by 1, 2, 3, 4, 5
    ), seen as materialized (
      select trace_key, span_id, output_revision, is_counted, min(at) as at, step_id, round, count(*) as votes,
        sum(decision = 'accept') as accepts, count(error_type) as named, count(distinct error_type) as error_types,
        json_group_array(json_object('userId', user_id, 'decision', decision, 'errorType', error_type)) as labels
      from labeled group by 1, 2, 3, 4 having ${isIn(range, sql`min(at)`)}
    ), listed as materialized (
      select listed.*, ${traces.id} as trace_id, (
        select json_object('decision', adjudicated.decision, 'errorType', adjudicated.error_type)
        from ${reviews} as adjudicated where ${isAdjudication('listed')}) as adjudication
      from seen as listed cross join ${traces}
      where ${traces.key} = listed.trace_key and ${isLiveIn(store, project)} and ${isShown(store)}
      order by ${NEWEST_FIRST} limit ${MAX_COMPARED_OUTPUTS})`
}

const isIn = ({ from = 0, to }: AgreementFilter, time: SQL): SQL =>
  sql`${time} >= ${from}${to === undefined ? sql`` : sql` and ${time} < ${to}`}`

/** The query for the newest votes in a range. */
const newestVotes = (project: Project, range: AgreementFilter): SQL => sql`
  select ${votes.traceKey}, ${votes.spanId}, ${votes.outputRevision}, ${votes.firstAt} from ${votes}
  where ${votes.projectKey} = ${project.key} and ${isIn(range, sql`${votes.firstAt}`)}
  order by ${votes.firstAt} desc limit ${MAX_SCANNED_VOTES}`

/**
 * Whether the viewer may see how others voted on an output. Under a blind policy, they may do so only once its span is
 * decided.
 */
const isShown = ({ isBlind }: Store): SQL =>
  isBlind
    ? sql`exists (select 1 from ${spans} where ${spans.id} = listed.span_id and ${spans.traceKey} = listed.trace_key
        and (${isReviewed} or not ${hasBlindPolicy}))`
    : sql`true`
