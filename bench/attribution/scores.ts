import { type Interval, wilsonInterval } from '../../src/domain/statistics.ts'
import type { LabeledCase } from './cases.ts'
import type { CaseAnswer } from './post.ts'

/** A case with its answer. */
export interface Judged {
  labeled: LabeledCase
  answer: CaseAnswer
}

/** How many answers in a set are right, and their share with its 95% interval. */
export interface Share {
  right: number
  of: number
  /** NaN if there are no answers. */
  share: number
  interval: Interval | null
}

/** The shares of right answers. */
export interface Scores {
  cases: number
  category: Share
  type: Share
  span: Share
  /** The mean F1 over all types, including types that the engine never answers with. */
  macroF1: number
}

const isTypeRight = ({ labeled, answer }: Judged) => answer.errorType === labeled.expected.error_type

function shareOf(judged: readonly Judged[], isRight: (each: Judged) => boolean): Share {
  const right = judged.filter(isRight).length
  return { right, of: judged.length, share: right / judged.length, interval: wilsonInterval(right, judged.length) }
}

export function scoresOf(judged: readonly Judged[]): Scores {
  return {
    cases: judged.length,
    category: shareOf(judged, ({ labeled, answer }) => answer.category === labeled.expected.error_type_category),
    type: shareOf(judged, isTypeRight),
    span: shareOf(judged, ({ labeled, answer }) => answer.span === labeled.expected.span),
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

/** Answers with similar confidence: the range and mean of their confidence, and how many are right. */
export interface Bin extends Share {
  from: number
  to: number
  confidence: number
}

/**
 * Splits answers into bins of equal size, the least confident first. Returns fewer bins if there are too few answers.
 */
export function binsOf(judged: readonly Judged[], bins = 3): Bin[] {
  const sorted = judged.toSorted((left, right) => left.answer.confidence - right.answer.confidence)
  return Array.from({ length: bins }, (_, bin) => {
    const own = sorted.slice(Math.round((bin * sorted.length) / bins), Math.round(((bin + 1) * sorted.length) / bins))
    const confidences = own.map(({ answer }) => answer.confidence)
    return {
      ...shareOf(own, isTypeRight),
      from: confidences[0] ?? 0,
      to: confidences.at(-1) ?? 0,
      confidence: confidences.reduce((sum, each) => sum + each, 0) / own.length,
    }
  }).filter(({ of }) => of > 0)
}

/** The expected calibration error: the mean gap between confidence and accuracy in the bins, weighted by bin size. */
export const calibrationError = (judged: readonly Judged[]): number =>
  binsOf(judged).reduce(
    (sum, { of, confidence, share }) => sum + (of / judged.length) * Math.abs(confidence - share),
    0,
  )

/** An answer above this confidence is considered sure. */
const SURE = 0.8

/** How many of the sure answers are right. */
export const sureOf = (judged: readonly Judged[]): Share =>
  shareOf(
    judged.filter(({ answer }) => answer.confidence > SURE),
    isTypeRight,
  )

/** For each expected type, how many times each type was the answer. */
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

/** The scores and the calibration of answers, as lines of text. */
export function linesOf(judged: readonly Judged[]): string[] {
  const scores = scoresOf(judged)
  const sure = sureOf(judged)
  return [
    ...(['category', 'type', 'span'] as const).map(name => `  ${name.padEnd(10)}${text(scores[name])}`),
    `  macro-F1  ${number(scores.macroF1)}`,
    `  confidence above ${SURE}: ${number(sure.of / scores.cases)} of the answers, right ${text(sure)}`,
    `\n  confidence     answers   mean   right   (expected calibration error ${number(calibrationError(judged))})`,
    ...binsOf(judged).map(({ from, to, confidence, ...share }) => {
      const range = `${number(from)} to ${number(to)}`
      return `  ${range}   ${String(share.of).padStart(7)}   ${number(confidence)}   ${text(share)}`
    }),
  ]
}

function text({ share, right, of, interval }: Share): string {
  if (!interval) return 'none'
  return `${number(share)} (${right} of ${of}; 95% interval ${number(interval.low)} to ${number(interval.high)})`
}

function number(share: number): string {
  return share.toFixed(2)
}
