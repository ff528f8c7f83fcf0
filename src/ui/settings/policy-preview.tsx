import { Alert, Text } from '@mantine/core'
import { count } from '../parts/format.ts'
import { BASIS_DAYS, type Workload } from './workload.ts'

/** How many outputs a policy would offer to reviewers, based on the last few days. */
export function PolicyPreview({ workload, hasRules }: { workload: Workload; hasRules: boolean }) {
  const { byStep, outputs, reviews, people } = workload
  if (byStep.size === 0) {
    return (
      <Alert variant="default" title="No preview yet" role="status">
        <Text size="sm">No outputs were counted in the last {BASIS_DAYS} days.</Text>
      </Alert>
    )
  }
  return (
    <Alert
      variant="default"
      role="status"
      title={capitalized(`${perDay(outputs)} ${nounOf(outputs, 'output')} a day${perPerson(workload)}`)}
    >
      <Text size="sm">
        Based on the last {BASIS_DAYS} days
        {people > 0
          ? `, during which ${people === 1 ? '1 person' : `${count(people)} people`} reviewed outputs`
          : ', during which nobody reviewed anything'}
        .
        {reviews > outputs &&
          ` Some need several reviewers, for a total of ${perDay(reviews)} ${nounOf(reviews, 'review')} a day.`}
        {hasRules && ' The rules below add more outputs.'}
      </Text>
    </Alert>
  )
}

const perPerson = ({ reviews, people }: Workload): string =>
  people === 0 ? '' : `, ${perDay(reviews / people)} per person`

const capitalized = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`

/** The singular or plural of a noun that follows a daily average. */
const nounOf = (value: number, one: string): string => (value > 0 && Math.round(value) <= 1 ? one : `${one}s`)

/** A daily average. */
export const perDay = (value: number): string => {
  if (value > 0 && value < 1) return 'less than 1'
  return value === 0 ? '0' : `about ${count(Math.round(value))}`
}
