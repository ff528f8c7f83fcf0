import type { Problem } from '../api/wire.ts'
import { count } from '../parts/format.ts'

/** How far the fix is, in a sentence; null if there is none. */
export function progressOf({ state, candidate, proof, watch, note }: Problem): string | null {
  if (state === 'dismissed') return note
  if (!candidate) return null
  const version = `Version ${candidate.number}`
  if (state === 'verified') return `${version} is live, and the fix holds.`
  if (state === 'live') return `${version} is live. ${decisionsSoFar(watch)}`
  if (state === 'proven') return `${version} fixes it, and waits to be activated.`
  if (!proof || proof.experimentId === null) return `${version} is the candidate. No experiment has tried it yet.`
  return `${version} fixes ${count(proof.fixed)} of ${count(proof.items)} test items. ${proof.reason ?? ''}`
}

/** The next look at the new version's decisions, and how many there are. */
export function decisionsSoFar(watch: Problem['watch']): string {
  if (!watch) return ''
  const next = LOOKS.find(look => look > watch.after.n)
  return next === undefined
    ? `${count(watch.after.n)} decisions are in.`
    : `${count(watch.after.n)} of the ${count(next)} decisions needed to tell are in.`
}

/** The numbers of decisions at which the watch compares versions. */
const LOOKS = [20, 40, 80, 160, 320] as const
