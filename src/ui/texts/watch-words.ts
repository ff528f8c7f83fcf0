import type { Watch } from '../api/wire.ts'
import { count, share } from '../parts/format.ts'

type Interval = NonNullable<Watch['interval']>

/** A watch's result, in one sentence. */
export function findingOf(watch: Watch): string {
  const { state, before, after, decided, nextLook, previousVersionNumber: previous } = watch
  if (state === 'too_early') return `Too early: ${count(decided)} of ${count(nextLook ?? 0)} decisions.`
  if (before.n === 0) return `Nothing to compare with: nobody has decided on outputs of version ${previous}.`
  const [isNow, was] = [share(after.accepted, after.n), share(before.accepted, before.n)]
  return `${STATES[state]}: ${isNow} of ${count(after.n)} accepted, ${was} of ${count(before.n)} on version ${previous}.${
    watch.interval ? ` ${differenceOf(watch.interval)}` : ''
  }`
}

const STATES = { better: 'Better', worse: 'Worse', no_difference: 'No clear difference' } as const

/** The interval of the difference, in percentage points. */
function differenceOf({ low, high }: Interval): string {
  const [from, to] = [Math.round(100 * low), Math.round(100 * high)]
  if (from > 0) return `The difference is ${from} to ${to} points.`
  if (to < 0) return `The difference is ${-to} to ${-from} points.`
  return `The new version's true acceptance rate is between ${-from} points lower and ${to} points higher.`
}

/** The results of earlier comparisons, and when the next one is. */
export function outlookOf({ state, decided, nextLook, looks }: Watch): string {
  const earlier = looks.slice(0, -1).map(look => `${STATES_THEN[look.state]} after ${count(look.after.n)}`)
  const sentences = [
    earlier.length > 0 && `Before that: ${earlier.join(', ')}.`,
    nextLook === null && 'This was the last comparison.',
    nextLook !== null &&
      state !== 'too_early' &&
      `The next comparison is after ${count(nextLook)} decisions; there have been ${count(decided)} so far.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

const STATES_THEN = {
  too_early: 'too early',
  better: 'better',
  worse: 'worse',
  no_difference: 'no clear difference',
} as const
