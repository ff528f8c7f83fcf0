import type { Watch } from '../api/wire.ts'
import { count, counted, share } from '../parts/format.ts'

type Interval = NonNullable<Watch['interval']>

/** A watch's result, in one sentence. */
export function findingOf(watch: Watch): string {
  const { state, before, after, decided, nextLook, previousVersionNumber: previous } = watch
  if (state === 'too_early') return `Too early to tell: ${count(decided)} of ${count(nextLook ?? 0)} decisions so far.`
  if (before.n === 0) return `Nothing to compare with: nobody has decided on outputs from version ${previous}.`
  const [isNow, was] = [share(after.accepted, after.n), share(before.accepted, before.n)]
  return `${STATES[state]}: ${isNow} of ${counted(after.n, 'output')} accepted, compared with ${was} of ${count(before.n)} from version ${previous}.${
    watch.interval ? ` ${differenceOf(watch.interval)}` : ''
  }`
}

const STATES = { better: 'Better', worse: 'Worse', no_difference: 'No clear difference' } as const

/** The interval of the difference, in percentage points. */
function differenceOf({ low, high }: Interval): string {
  const [from, to] = [Math.round(100 * low), Math.round(100 * high)]
  if (from > 0) return `The difference is ${from} to ${counted(to, 'point')}.`
  if (to < 0) return `The difference is ${-to} to ${counted(-from, 'point')}.`
  return `The new version's true acceptance rate is between ${counted(Math.abs(from), 'point')} lower and ${counted(to, 'point')} higher.`
}

/** The results of earlier comparisons, and when the next one is. */
export function outlookOf({ state, decided, nextLook, looks }: Watch): string {
  const earlier = looks
    .slice(0, -1)
    .map(look => `${STATES_THEN[look.state]} after ${counted(look.after.n, 'decision')}`)
  const sentences = [
    earlier.length > 0 && `Earlier comparisons: ${earlier.join(', ')}.`,
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
