import { cohensKappa } from './agreement.ts'
import { type Interval, wilsonInterval } from './statistics.ts'

/** The number of traces for which an engine and a reviewer gave these error types, which may be the same. */
export interface ComparedAnswers {
  engine: string
  engineVersion: string
  /** The engine's error type. */
  answered: string
  /** The reviewer's error type. */
  named: string
  /** The range that the confidences fall into, in tenths: 0 if they're below 0.1, 9 if they're 0.9 or above. */
  tenth: number
  count: number
  /** The sum of the confidences. */
  confidence: number
}

/** One number for error types, and one for their categories. */
interface ByDepth {
  errorType: number | null
  category: number | null
}

/** How well engines and reviewers agree. */
export interface AttributionQuality {
  /** Compared traces. */
  reviewed: number
  /** Traces with the same error type from both. */
  agreed: number
  /** The 95% interval of the share that agrees. */
  interval: Interval
  /** The share with the same answer, 0 to 1. Null if no traces were compared. */
  agreement: ByDepth
  /** Cohen's κ: 1 is full agreement, 0 is chance. Null if undefined. */
  kappa: ByDepth
  /** Engines' answers, the most frequent first. */
  errorTypes: {
    errorType: string
    answered: number
    agreed: number
    precision: number
    /** The precision's 95% interval. */
    interval: Interval
    /** Reviewers' different answers, the most frequent first. */
    overruled: { errorType: string; count: number }[]
  }[]
  /** By engine version, those with the most answers first. */
  engines: {
    engine: string
    version: string
    reviewed: number
    agreed: number
    interval: Interval
    agreement: ByDepth
  }[]
  /** By tenths of confidence. `to` is exclusive except for the last tenth. */
  calibration: {
    from: number
    to: number
    count: number
    agreed: number
    meanConfidence: number | null
    agreement: number | null
    /** The 95% interval of `agreement`. */
    interval: Interval
  }[]
}

const TENTHS = 10

/** The interval of a share if there's no data. */
const UNKNOWN: Interval = { low: 0, high: 1 }

/** Computes the engines' quality from compared answers. `categoryOf` maps an error type to its category. */
export function attributionQuality(
  compared: readonly ComparedAnswers[],
  categoryOf: (errorType: string) => string,
): AttributionQuality {
  const categories = compared.map(each => ({
    ...each,
    answered: categoryOf(each.answered),
    named: categoryOf(each.named),
  }))
  const agreementOf = (isIncluded: (each: ComparedAnswers) => boolean): ByDepth => ({
    errorType: agreement(compared.filter(isIncluded)),
    category: agreement(categories.filter(isIncluded)),
  })
  return {
    reviewed: total(compared),
    ...agreedOf(compared),
    agreement: agreementOf(() => true),
    kappa: { errorType: kappaOf(compared), category: kappaOf(categories) },
    errorTypes: frequentFirst(compared, ({ answered }) => answered).map(([errorType, answers]) => {
      const answered = total(answers)
      const { agreed, interval } = agreedOf(answers)
      const others = answers.filter(each => !isAgreed(each))
      const overruled = frequentFirst(others, ({ named }) => named).map(([errorType, instead]) => ({
        errorType,
        count: total(instead),
      }))
      return { errorType, answered, agreed, precision: agreed / answered, interval, overruled }
    }),
    engines: frequentFirst(compared, each => `${each.engineVersion}/${each.engine}`).flatMap(([, answers]) => {
      const [first] = answers
      if (!first) return []
      const { engine, engineVersion } = first
      const agreement = agreementOf(each => each.engine === engine && each.engineVersion === engineVersion)
      return [{ engine, version: engineVersion, reviewed: total(answers), ...agreedOf(answers), agreement }]
    }),
    calibration: Array.from({ length: TENTHS }, (_, tenth) => {
      const answers = compared.filter(each => each.tenth === tenth)
      const count = total(answers)
      const confidence = answers.reduce((sum, each) => sum + each.confidence, 0)
      return {
        from: tenth / TENTHS,
        to: (tenth + 1) / TENTHS,
        count,
        ...agreedOf(answers),
        meanConfidence: count === 0 ? null : confidence / count,
        agreement: agreement(answers),
      }
    }),
  }
}

/** An engine's answer and a reviewer's, and how many times they occur. */
type CountedAnswers = Pick<ComparedAnswers, 'answered' | 'named' | 'count'>

const isAgreed = ({ answered, named }: CountedAnswers): boolean => answered === named

const kappaOf = (rated: readonly CountedAnswers[]): number | null =>
  cohensKappa(rated.map(({ answered, named }) => [answered, named]))(rated.map(({ count }) => count))

const total = (counted: readonly { count: number }[]): number => counted.reduce((sum, { count }) => sum + count, 0)

/** The answers that reviewers agree with, and the 95% interval of their share. */
function agreedOf(rated: readonly CountedAnswers[]): { agreed: number; interval: Interval } {
  const agreed = total(rated.filter(isAgreed))
  return { agreed, interval: wilsonInterval(agreed, total(rated)) ?? UNKNOWN }
}

function agreement(rated: readonly CountedAnswers[]): number | null {
  const all = total(rated)
  return all === 0 ? null : total(rated.filter(isAgreed)) / all
}

/** Groups by label, largest count first. */
const frequentFirst = <Counted extends { count: number }>(
  counted: readonly Counted[],
  labelOf: (each: Counted) => string,
): [label: string, group: Counted[]][] =>
  [...Map.groupBy(counted, labelOf)].toSorted(
    ([left, lefts], [right, rights]) => total(rights) - total(lefts) || (left < right ? -1 : 1),
  )
