import { CountersignError } from '../../errors.ts'
import type { SpanDetail } from '../../wire.ts'
import type { Options } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure, faultOf } from '../failure.ts'
import type { Output } from '../output.ts'

/** The options that the commands for both decisions share. */
export const decisionOptions = {
  comment: { type: 'text', short: 'm', value: 'text', description: 'The reason for the decision.' },
  errorType: {
    type: 'text',
    value: 'type',
    description: 'The type of error in the output, such as hallucinated_content.',
  },
  force: { type: 'flag', description: "Approve an output that doesn't match the step's schema." },
  takeOver: { type: 'flag', description: 'Decide even if somebody else is reviewing the output.' },
  ifMatch: {
    type: 'text',
    value: 'etag',
    description: 'Decide only if the span still has this ETag. Default: the ETag that `review next` showed.',
  },
} as const satisfies Options

interface DecisionInput {
  comment: string | undefined
  errorType: string | undefined
  force: boolean
  takeOver: boolean
}

/** Sends a decision. If it fails, the error suggests what would help. */
export async function decide(
  connection: Connection,
  spanId: string,
  etag: string | undefined,
  decision: { decision: 'accept' } | { decision: 'correct'; approvedOutput: unknown },
  { comment, errorType, force, takeOver }: DecisionInput,
): Promise<SpanDetail> {
  const body = JSON.stringify({ ...decision, comment, errorType, force, takeOver })
  const headers = etag === undefined ? {} : { 'if-match': etag }
  try {
    const path = `/api/spans/${encodeURIComponent(spanId)}/review`
    return await connection.call<SpanDetail>(path, 'review', { method: 'PUT', body, headers })
  } catch (error) {
    const hint = error instanceof CountersignError ? hintFor(error) : undefined
    if (hint === undefined) throw error
    const { ending, code, message, details, fields } = faultOf(error)
    throw new Failure(ending, code, message, { details, fields, hint, cause: error })
  }
}

function hintFor({ status, code }: CountersignError): string | undefined {
  if (status === 422) return 'Add --force to approve it anyway.'
  if (status === 409 && code === 'conflict')
    return 'Add --take-over to decide anyway, or get a different output: countersign review next'
  if (status === 412)
    return 'The output or its review has changed since you saw it. Look at it again: countersign review next'
  return undefined
}

/** Prints what became of a decision. */
export async function printDecision(out: Output, span: SpanDetail): Promise<void> {
  const { id, review, votes, suggestions, isDisputed } = span
  if (review.state !== 'unreviewed') await out.line(`${id} is ${review.state}.`)
  else if (isDisputed) await out.line(`The votes on ${id} differ. An adjudicator will decide.`)
  else if (votes.length > 0) await out.line(`Your vote on ${id} was recorded. Other reviewers still have to vote.`)
  else if (suggestions.length > 0) await out.line(`Your suggestion for ${id} was recorded. A person will decide.`)
}
