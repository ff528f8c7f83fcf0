import { Text } from '@mantine/core'
import type { ExperimentItem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'

/** A model's judgment of a candidate's output, marked as such. */
export function ItemJudgment({ item: { judgment, judgmentError } }: { item: ExperimentItem }) {
  if (judgmentError !== null) {
    return (
      <Text size="sm" c="dimmed">
        A model couldn't judge this output: <ShownText text={judgmentError} />
      </Text>
    )
  }
  if (judgment === null) return null
  const { same, reason, model, at } = judgment
  return (
    <section aria-label="Model's judgment">
      <Text size="sm">
        <b>A model says that the output means {same ? 'the same thing' : 'something else'}.</b>{' '}
        <span dir="auto">
          <ShownText text={reason} />
        </span>
      </Text>
      <Text size="xs" c="dimmed">
        <ShownText text={model} />, <Moment at={at} />. The model may be wrong. Only a person's decision counts.
      </Text>
    </section>
  )
}
