import { MAX_COMPARED_REVIEWERS, MAX_COMPARED_STEPS } from '../limits.ts'
import {
  type ComparedPairs,
  cohensKappa,
  countPairs,
  distinctPatterns,
  krippendorffsAlpha,
  type LabelPattern,
  type Measure,
  percentAgreement,
} from './agreement.ts'
import { bootstrapIntervals } from './bootstrap.ts'
import type { Decision } from './review-state.ts'
import { type Interval, wilsonInterval } from './statistics.ts'
import type { Work } from './turns.ts'

/** What a reviewer, or an adjudicator, said about an output. */
export interface Judgment {
  decision: Exclude<Decision, 'reset'>
  /** Null if they named none. */
  errorType: string | null
}

/** A reviewer's vote. */
export interface Vote extends Judgment {
  userId: string
}

/** Outputs on which the same reviewers voted the same way. */
export interface VotedOutputs {
  stepId: string
  /** The week of the first vote: its Monday, in days since 1970. */
  week: number
  votes: readonly Vote[]
  /** The adjudicator's decision. Null if there is none. */
  adjudication: Judgment | null
  count: number
}

/** A measure with its 95% interval. Null if the measure is undefined for the data or for too many resamples. */
interface Estimate {
  value: number | null
  interval: Interval | null
}

/** How often any number of reviewers agree. */
export interface GroupAgreement {
  /** Outputs with at least two labels. */
  outputs: number
  /** Outputs on which all labels are the same. */
  unanimous: number
  /** Pairs of labels on the same output. */
  pairs: number
  /** Pairs with the same label. */
  agreed: number
  /** The share of pairs that agree. */
  agreement: Estimate
  /** Krippendorff's nominal α. */
  alpha: Estimate
}

/** How often two reviewers agree. */
interface PairAgreement {
  /** Outputs that both labeled. */
  outputs: number
  agreed: number
  agreement: Estimate
  /** Cohen's κ. */
  kappa: Estimate
}

/** How often a reviewer agreed with an adjudicator. */
interface AdjudicatedVotes {
  /** Outputs that both labeled. */
  outputs: number
  agreed: number
  agreement: Estimate
}

/** One result for decisions, and one for the error types that they name. */
export interface ByLabel<Result> {
  decision: Result
  errorType: Result
}

export interface ReviewerAgreement {
  all: ByLabel<GroupAgreement>
  /** The steps with the most outputs first. */
  steps: ({ stepId: string } & ByLabel<GroupAgreement>)[]
  /** The earliest weeks first. */
  weeks: ({ week: number } & ByLabel<GroupAgreement>)[]
  /** The reviewers with the most outputs first. */
  reviewers: ({ userId: string; votes: number; adjudicated: ByLabel<AdjudicatedVotes> } & ByLabel<GroupShare>)[]
  /** Each pair of listed reviewers who voted on the same output. */
  pairs: ({ userIds: [string, string] } & ByLabel<PairAgreement>)[]
  /** How many steps and reviewers there are, listed or not. */
  stepCount: number
  reviewerCount: number
}

/** How often a reviewer and others agree. */
type GroupShare = Pick<GroupAgreement, 'outputs' | 'pairs' | 'agreed' | 'agreement'>

/** Computes how often reviewers agree, from their votes. */
export function* reviewerAgreement(voted: readonly VotedOutputs[]): Work<ReviewerAgreement> {
  const all = yield* groupAgreement(voted)
  const byStep = largestFirst(Map.groupBy(voted, ({ stepId }) => stepId))
  const steps: ReviewerAgreement['steps'] = []
  for (const [stepId, group] of byStep.slice(0, MAX_COMPARED_STEPS))
    steps.push({ stepId, ...(yield* groupAgreement(group)) })
  const weeks: ReviewerAgreement['weeks'] = []
  for (const [week, group] of [...Map.groupBy(voted, ({ week }) => week)].toSorted(([one], [other]) => one - other))
    weeks.push({ week, ...(yield* groupAgreement(group)) })
  const byReviewer = largestFirst(groupByReviewer(voted))
  const listed = byReviewer.slice(0, MAX_COMPARED_REVIEWERS)
  const reviewers: ReviewerAgreement['reviewers'] = []
  for (const [userId, group] of listed) reviewers.push({ userId, ...(yield* reviewer(userId, group)) })
  const pairs: ReviewerAgreement['pairs'] = []
  for (const [place, [first, group]] of listed.entries()) {
    for (const [second] of listed.slice(place + 1)) {
      const shared = group.filter(({ votes }) => votes.some(({ userId }) => userId === second))
      if (shared.length === 0) continue
      const userIds: [string, string] = [first, second]
      pairs.push({ userIds, ...(yield* byLabel(label => pairAgreement(shared, userIds, label))) })
    }
  }
  return { all, steps, weeks, reviewers, pairs, stepCount: byStep.length, reviewerCount: byReviewer.length }
}

type Label = keyof Judgment

function* byLabel<Result>(compute: (label: Label) => Work<Result>): Work<ByLabel<Result>> {
  return { decision: yield* compute('decision'), errorType: yield* compute('errorType') }
}

/** Computes how often all reviewers of the same outputs agree. */
export const groupAgreement = (voted: readonly VotedOutputs[]): Work<ByLabel<GroupAgreement>> =>
  byLabel(function* (label) {
    const patterns = distinctPatterns(
      voted
        .map(({ votes, count }) => ({ labels: votes.flatMap(vote => vote[label] ?? []).toSorted(), count }))
        .filter(({ labels }) => labels.length > 1),
    )
    const labels = patterns.map(pattern => pattern.labels)
    const compared = labels.map(countPairs)
    const [agreement = UNDEFINED, alpha = UNDEFINED] = yield* estimate(patterns, [
      percentAgreement(compared),
      krippendorffsAlpha(labels),
    ])
    return { ...totals(patterns, compared), agreement, alpha }
  })

/** Compares a reviewer with the others, and with adjudicators. */
function* reviewer(userId: string, voted: readonly VotedOutputs[]) {
  const own = voted.flatMap(({ votes, adjudication, count }) => {
    const vote = votes.find(each => each.userId === userId)
    return vote ? [{ vote, others: votes.filter(each => each !== vote), adjudication, count }] : []
  })
  const withOthers = yield* byLabel(function* (label) {
    const patterns = distinctPatterns(
      own.flatMap(({ vote, others, count }) => {
        const labels = others.flatMap(other => other[label] ?? []).map(other => String(other === vote[label]))
        return vote[label] === null || labels.length === 0 ? [] : [{ labels: labels.toSorted(), count }]
      }),
    )
    const compared = patterns.map(({ labels }) => ({
      pairs: labels.length,
      agreed: labels.filter(label => label === 'true').length,
    }))
    const [agreement = UNDEFINED] = yield* estimate(patterns, [percentAgreement(compared)])
    return { ...totals(patterns, compared), agreement }
  })
  const adjudicated = (label: Label): AdjudicatedVotes => {
    const compared = own.filter(
      ({ vote, adjudication }) => vote[label] !== null && (adjudication?.[label] ?? null) !== null,
    )
    const outputs = sum(compared)
    const agreed = sum(compared.filter(({ vote, adjudication }) => vote[label] === adjudication?.[label]))
    const value = outputs === 0 ? null : agreed / outputs
    return { outputs, agreed, agreement: { value, interval: wilsonInterval(agreed, outputs) } }
  }
  return {
    votes: sum(own),
    ...withOthers,
    adjudicated: { decision: adjudicated('decision'), errorType: adjudicated('errorType') },
  }
}

function* pairAgreement(
  voted: readonly VotedOutputs[],
  userIds: readonly [string, string],
  label: Label,
): Work<PairAgreement> {
  const patterns = distinctPatterns(
    voted
      .map(({ votes, count }) => ({
        labels: userIds.flatMap(userId => votes.find(vote => vote.userId === userId)?.[label] ?? []),
        count,
      }))
      .filter(({ labels }) => labels.length === userIds.length),
  )
  const labels = patterns.map(pattern => pattern.labels)
  const compared = labels.map(countPairs)
  const [agreement = UNDEFINED, kappa = UNDEFINED] = yield* estimate(patterns, [
    percentAgreement(compared),
    cohensKappa(labels),
  ])
  const { outputs, agreed } = totals(patterns, compared)
  return { outputs, agreed, agreement, kappa }
}

/** Computes measures of patterns, with their intervals. */
function* estimate(patterns: readonly LabelPattern[], measures: readonly Measure[]): Work<Estimate[]> {
  const counts = patterns.map(({ count }) => count)
  const intervals = yield* bootstrapIntervals(counts, measures)
  return measures.map((measure, place) => ({ value: measure(counts), interval: intervals[place] ?? null }))
}

const UNDEFINED: Estimate = { value: null, interval: null }

/** Counts outputs and pairs of labels. For each pattern, `compared` counts the pairs of a single output. */
function totals(patterns: readonly LabelPattern[], compared: readonly ComparedPairs[]) {
  const all = { outputs: 0, unanimous: 0, pairs: 0, agreed: 0 }
  patterns.forEach(({ count }, place) => {
    const { pairs, agreed } = compared[place] ?? { pairs: 0, agreed: 0 }
    all.outputs += count
    if (pairs === agreed) all.unanimous += count
    all.pairs += count * pairs
    all.agreed += count * agreed
  })
  return all
}

const sum = (counted: readonly { count: number }[]): number => counted.reduce((total, { count }) => total + count, 0)

/** The outputs of each reviewer. */
function groupByReviewer(voted: readonly VotedOutputs[]): Map<string, VotedOutputs[]> {
  const votes = voted.flatMap(outputs => outputs.votes.map(({ userId }) => ({ userId, outputs })))
  const groups = Map.groupBy(votes, ({ userId }) => userId)
  return new Map([...groups].map(([userId, group]) => [userId, group.map(({ outputs }) => outputs)] as const))
}

const largestFirst = (groups: ReadonlyMap<string, VotedOutputs[]>): [string, VotedOutputs[]][] =>
  [...groups].toSorted(([one, ones], [other, others]) => sum(others) - sum(ones) || (one < other ? -1 : 1))
