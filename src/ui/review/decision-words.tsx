import { useNames } from '../api/names.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { useDesk } from './use-desk.ts'

/** Who decided what, and when: “Kofi accepted this on …”. */
export function DecisionWords({ review: { state, by, at } }: { review: SpanOfTrace['review'] }) {
  const { actorId } = useDesk()
  const names = useNames([by])
  const who = by === actorId ? 'You' : by === null ? 'Someone' : (names.get(by) ?? 'Another reviewer')
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
