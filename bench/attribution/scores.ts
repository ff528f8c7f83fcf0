import type { LabeledCase } from './cases.ts'
import type { CaseAnswer } from './post.ts'

/** A case with its answer. */
export interface Judged {
  labeled: LabeledCase
  answer: CaseAnswer
}

/** The shares of right answers. */
export interface Scores {
  cases: number
  category: number
  type: number
  span: number
  /** The mean F1 over all types, including types that the engine never names. */
  macroF1: number
}

const isTypeRight = ({ labeled, answer }: Judged) => answer.errorType === labeled.expected.error_type

export function scoresOf(judged: readonly Judged[]): Scores {
  const share = (isRight: (each: Judged) => boolean) => judged.filter(isRight).length / judged.length
  return {
    cases: judged.length,
    category: share(({ labeled, answer }) => answer.category === labeled.expected.error_type_category),
    type: share(isTypeRight),
    span: share(({ labeled, answer }) => answer.span === labeled.expected.span),
    macroF1: macroF1(judged),
  }
}

function macroF1(judged: readonly Judged[]): number {
  const types = [...new Set(judged.map(({ labeled }) => labeled.expected.error_type))]
  const scores = types.map(type => {
    const right = judged.filter(each => isTypeRight(each) && each.answer.errorType === type).length
    const answered = judged.filter(({ answer }) => answer.errorType === type).length
    const expected = judged.filter(({ labeled }) => labeled.expected.error_type === type).length
    return (2 * right) / (answered + expected)
  })
  return scores.reduce((sum, score) => sum + score, 0) / types.length
}

/** For the answers in each tenth of confidence: their count, mean confidence, and share of right answers. */
export function calibrationOf(judged: readonly Judged[]) {
  return Array.from({ length: 10 }, (_, tenth) => {
    const own = judged.filter(({ answer }) => Math.min(9, Math.floor(answer.confidence * 10)) === tenth)
    return {
      from: tenth / 10,
      count: own.length,
      confidence: own.reduce((sum, { answer }) => sum + answer.confidence, 0) / own.length,
      right: own.filter(isTypeRight).length / own.length,
    }
  }).filter(({ count }) => count > 0)
}

/** The expected calibration error: the mean distance between confidence and accuracy per tenth, weighted by answers. */
export function calibrationError(judged: readonly Judged[]): number {
  const tenths = calibrationOf(judged)
  return tenths.reduce(
    (sum, { count, confidence, right }) => sum + (count / judged.length) * Math.abs(confidence - right),
    0,
  )
}

/** For each expected type, how often each type was the answer. */
export function confusionOf(judged: readonly Judged[]): { expected: string; answered: Record<string, number> }[] {
  return [...Map.groupBy(judged, ({ labeled }) => labeled.expected.error_type)]
    .map(([expected, own]) => ({
      expected,
      answered: Object.fromEntries(
        [...Map.groupBy(own, ({ answer }) => answer.errorType)]
          .map(([type, same]) => [type, same.length] as const)
          .sort(([, left], [, right]) => right - left),
      ),
    }))
    .sort((left, right) => (left.expected < right.expected ? -1 : 1))
}
