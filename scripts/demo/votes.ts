import type { Json } from '../../src/domain/json.ts'
import { outputsToReview, reviewsOf } from './reviews.ts'
import { PRODUCTS } from './support-handbook.ts'
import { type DemoTrace, type ErrorType, REVIEWERS } from './trace.ts'

const [ADA, KOFI, MEI] = REVIEWERS

/** The person who settles disagreements between reviewers. The app opens with this person's key. */
export const ADJUDICATOR = ADA.email

const STEP = 'rewrite-query'

/**
 * Two people review `STEP` without seeing each other's votes. `embed-query` is left out, because there's nothing to
 * read.
 */
export const POLICY = {
  steps: { [STEP]: { reviewers: 2, blind: true }, 'embed-query': { sample: 0 } },
  always: ['negative'],
}

/** One person's vote on an output, or the adjudicator's decision. */
export interface DemoVote {
  traceId: string
  spanId: string
  stepId: string
  reviewer: string
  decision: 'accept' | 'correct'
  approvedOutput?: Json
  comment?: string
  errorType?: ErrorType
}

const VOTED = 60
/** How many of the newest outputs the second reviewer hasn't reached. */
const VOTED_ONCE = 5
const ADJUDICATED = 3

/**
 * The votes on the newest outputs that nobody has reviewed, and then the adjudicator's decisions. The two reviewers
 * disagree about one thing: whether a query should name the product. The handbook never names products.
 */
export function votesOn(traces: readonly DemoTrace[]): DemoVote[] {
  const open = traces
    .filter(({ ending }) => ending === 'completed')
    .flatMap(undecidedQuery)
    .slice(-VOTED)
  const named = open.filter(({ shorter }) => shorter !== null)
  const disputed = named.filter(output => !isCorrectedByBoth(named.indexOf(output)))
  const votes = open.flatMap(({ place, shorter }, index): DemoVote[] => {
    const accept = { ...place, decision: 'accept' } as const
    const correct = {
      ...place,
      decision: 'correct',
      approvedOutput: shorter,
      errorType: 'instruction_noncompliance',
    } as const
    const isCorrected = isCorrectedByBoth(named.findIndex(each => each.place === place))
    return [
      { reviewer: KOFI.email, ...(isCorrected ? correct : accept) },
      ...(index >= VOTED - VOTED_ONCE
        ? []
        : [{ reviewer: MEI.email, ...(shorter === null ? accept : { ...correct, comment: WHY }) }]),
    ]
  })
  const decisions = disputed.slice(0, ADJUDICATED).map(({ place, shorter }, index): DemoVote => {
    const isWithMei = index !== 1
    return {
      ...place,
      reviewer: ADA.email,
      ...(isWithMei
        ? { decision: 'correct', approvedOutput: shorter, errorType: 'instruction_noncompliance', comment: RULING }
        : { decision: 'accept', comment: EXCEPTION }),
    }
  })
  return [...votes, ...decisions]
}

const WHY = 'The handbook names no products, so the product only narrows the search.'
const RULING = "Without the product. It isn't in any doc."
const EXCEPTION = "Found the right doc either way, so I don't mind it here."

/** Whether both reviewers remove the product: they do for every third query that names one. */
const isCorrectedByBoth = (index: number): boolean => index >= 0 && index % 3 === 2

interface Query {
  place: Pick<DemoVote, 'traceId' | 'spanId' | 'stepId'>
  /** The output without the product's name; null if it names no product. */
  shorter: Json
}

/** The step's output in a run, as a list. Empty if somebody has decided on the output, or if it's wrong. */
function undecidedQuery(trace: DemoTrace): Query[] {
  const decided = new Set(reviewsOf(trace).map(({ spanId }) => spanId))
  return outputsToReview(trace).flatMap(({ traceId, spanId, stepId, output, mistake }) =>
    stepId !== STEP || spanId === null || decided.has(spanId) || mistake
      ? []
      : [{ place: { traceId, spanId, stepId }, shorter: withoutProduct(output) }],
  )
}

function withoutProduct(output: Json | undefined): Json {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return null
  const { query } = output
  const product = PRODUCTS.find(name => typeof query === 'string' && query.endsWith(` ${name}`))
  return product === undefined || typeof query !== 'string'
    ? null
    : { ...output, query: query.slice(0, -product.length - 1) }
}
