import { useNames } from '../api/names.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { useDesk } from './use-desk.ts'

/** Who decided what, and when: “Kofi accepted this on …”. */
export function DecisionWords({ review: { state, by, at, basis } }: { review: SpanOfTrace['review'] }) {
  const { actorId } = useDesk()
  const names = useNames([by])
  const person = by === actorId ? 'You' : by === null ? 'Someone' : (names.get(by) ?? 'Another reviewer')
  const who = basis === 'votes' ? 'The reviewers' : person
  if (state === 'unreviewed') return <>This review was undone</>
  return (
    <>
      <ShownText text={who} /> {state} this
      {at !== null && (
        <>
          {' '}
          on <Moment at={at} />
        </>
      )}
    </>
  )
}
