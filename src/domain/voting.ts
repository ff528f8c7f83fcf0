/** A vote: what one of several reviewers says about an output. */
export interface Ballot {
  decision: 'accept' | 'correct'
  /** A hash of the correction's value. Null if the vote accepts the output. */
  approvedHash: string | null
}

/**
 * The state of a round of votes: `open` until there are as many votes as the step needs, then `decided` if each pair of
 * votes agrees, or else `disputed`.
 */
export type VotingState = 'open' | 'decided' | 'disputed'

/**
 * The state of a round with these votes. Votes agree if both accept the output, or both correct it to equal values.
 * `isEqual` compares two corrections that differ as JSON. Each pair is compared, because two values within the
 * tolerance of a third value may differ from each other by more than the tolerance.
 */
export async function votingState<Vote extends Ballot>(
  votes: readonly Vote[],
  reviewers: number,
  isEqual: (left: Vote, right: Vote) => Promise<boolean>,
): Promise<VotingState> {
  if (votes.length < reviewers) return 'open'
  for (const [index, left] of votes.entries()) {
    for (const right of votes.slice(index + 1)) {
      const isSame = left.decision === right.decision && left.approvedHash === right.approvedHash
      const isCorrected = left.decision === 'correct' && right.decision === 'correct'
      if (!isSame && !(isCorrected && (await isEqual(left, right)))) return 'disputed'
    }
  }
  return 'decided'
}

/** Whether agreement between these votes depends on their values, because all of them are corrections. */
export const dependsOnValues = (votes: readonly Pick<Ballot, 'decision'>[]): boolean =>
  votes.every(({ decision }) => decision === 'correct')
