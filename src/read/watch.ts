import * as v from 'valibot'
import { MAX_WATCHED, WATCH_STATES } from '../domain/watch.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import type { WatchLook, Watch as WatchRecord } from '../store/texts/watch.ts'

const Acceptance = v.object({
  n: described(v.number(), 'The number of first decisions by people, not counting imported decisions'),
  accepted: described(v.number(), 'How many of them accept the output'),
})
const Comparison = {
  state: described(
    v.picklist(WATCH_STATES),
    '`too_early`: there has been no look yet. `no_difference`: no difference can be shown.',
  ),
  p: described(
    v.nullable(v.number()),
    'The p-value of the two-sided Fisher test, times 5 because there are five looks. Null before the first look.',
  ),
  interval: described(
    v.nullable(v.object({ low: v.number(), high: v.number() })),
    "The 95% interval (Newcombe) of the new version's share of acceptances minus the old one's. Null before the first look, or if the old version has no decisions.",
  ),
  before: described(Acceptance, `The newest decisions on the previous version, up to the look; at most ${MAX_WATCHED}`),
  after: described(Acceptance, 'The oldest decisions on the active version since its activation'),
}

const Look = v.object({
  ...Comparison,
  at: described(IsoTime, 'When the last decision that the look counts was made'),
})

/** How a prompt's active version compares with the previous one. */
export const Watch = v.object({
  ...Comparison,
  versionId: described(Uuid, 'The active version'),
  versionNumber: v.number(),
  activatedAt: IsoTime,
  previousVersionId: described(Uuid, 'The version that was active before it'),
  previousVersionNumber: v.number(),
  decided: described(v.number(), `The number of decisions on the active version so far, at most ${MAX_WATCHED}`),
  nextLook: described(v.nullable(v.number()), 'The number of decisions at the next look. Null after the last look.'),
  looks: v.array(Look),
  rolledBack: described(
    v.nullable(Look),
    'If `autoRollback` reactivated this version, the comparison that triggered the rollback. Its `after` counts decisions on the version that was rolled back.',
  ),
})

export const toWatch = ({
  promptId: _,
  place: __,
  activatedAt,
  looks,
  rolledBack,
  ...watch
}: WatchRecord): v.InferOutput<typeof Watch> => ({
  ...watch,
  activatedAt: isoTime(activatedAt),
  looks: looks.map(toLook),
  rolledBack: rolledBack && toLook(rolledBack),
})

const toLook = ({ look: _, errorTypes: __, at, ...shown }: WatchLook): v.InferOutput<typeof Look> => ({
  ...shown,
  at: isoTime(at),
})
