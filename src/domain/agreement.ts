/** Traces on which an engine answered one error type and a reviewer named one, maybe the same. */
export interface ComparedAnswers {
  engine: string
  /** What the engine answered. */
  answered: string
  /** What the reviewer named. */
  named: string
  /** Which tenth its confidences fall into: 0 are those below 0.1, 9 those from 0.9 on. */
  tenth: number
  count: number
  /** The sum of its confidences. */
  confidence: number
}

/** Of error types, and of their categories alone. */
interface ByDepth {
  errorType: number | null
  category: number | null
}

/** How well engines and reviewers agree. */
export interface AttributionQuality {
  /** Traces that were compared. */
  reviewed: number
  /** The share on which both say the same, 0 to 1; null where there is none. */
  agreement: ByDepth
  /** Cohen's κ: 1 is full agreement, 0 what chance would give; null where it is not defined. */
  kappa: ByDepth
  /** What engines answered, the most frequent first. */
  errorTypes: {
    errorType: string
    answered: number
    agreed: number
    precision: number
    /** What reviewers named instead, the most frequent first. */
    overruled: { errorType: string; count: number }[]
  }[]
  /** The one with the most answers first. */
  engines: { engine: string; reviewed: number; agreement: ByDepth }[]
  /** By tenths of confidence, `to` exclusive but for the last. */
  calibration: { from: number; to: number; count: number; meanConfidence: number | null; agreement: number | null }[]
}

const TENTHS = 10

/** What compared answers say of the engines' quality. `categoryOf`: of an error type. */
export function attributionQuality(
  compared: readonly ComparedAnswers[],
  categoryOf: (errorType: string) => string,
): AttributionQuality {
  const categories = compared.map(each => ({
    ...each,
    answered: categoryOf(each.answered),
    named: categoryOf(each.named),
  }))
  const agreementOf = (isAsked: (each: ComparedAnswers) => boolean): ByDepth => ({
    errorType: agreement(compared.filter(isAsked)),
    category: agreement(categories.filter(isAsked)),
  })
  return {
    reviewed: total(compared),
    agreement: agreementOf(() => true),
    kappa: { errorType: cohensKappa(compared), category: cohensKappa(categories) },
    errorTypes: frequentFirst(compared, ({ answered }) => answered).map(([errorType, answers]) => {
      const [answered, agreed] = [total(answers), total(answers.filter(isAgreed))]
      const others = answers.filter(each => !isAgreed(each))
      const overruled = frequentFirst(others, ({ named }) => named).map(([errorType, instead]) => ({
        errorType,
        count: total(instead),
      }))
      return { errorType, answered, agreed, precision: agreed / answered, overruled }
    }),
    engines: frequentFirst(compared, ({ engine }) => engine).map(([engine, answers]) => ({
      engine,
      reviewed: total(answers),
      agreement: agreementOf(each => each.engine === engine),
    })),
    calibration: Array.from({ length: TENTHS }, (_, tenth) => {
      const answers = compared.filter(each => each.tenth === tenth)
      const count = total(answers)
      const confidence = answers.reduce((sum, each) => sum + each.confidence, 0)
      return {
        from: tenth / TENTHS,
        to: (tenth + 1) / TENTHS,
        count,
        meanConfidence: count === 0 ? null : confidence / count,
        agreement: agreement(answers),
      }
    }),
  }
}

/** How often two raters gave the same thing one label and another, or the same. */
interface RatedAlike {
  answered: string
  named: string
  count: number
}

/**
 * Cohen's κ of two raters (J. Cohen, A coefficient of agreement for nominal scales, 1960, doi 10.1177/001316446002000104):
 * by how much they agree more often than chance lets raters with their habits, in shares of how much that could be. Null
 * where nothing was rated, or both gave all one label: chance alone agrees then.
 */
export function cohensKappa(rated: readonly RatedAlike[]): number | null {
  const all = total(rated)
  const answered = countsBy(rated, each => each.answered)
  const named = countsBy(rated, each => each.named)
  const byChance = [...answered].reduce((sum, [label, count]) => sum + count * (named.get(label) ?? 0), 0)
  // In whole numbers up to here: whether chance agrees on all is no question of rounding.
  if (byChance === all * all) return null
  const expected = byChance / (all * all)
  return (total(rated.filter(isAgreed)) / all - expected) / (1 - expected)
}

const isAgreed = ({ answered, named }: RatedAlike): boolean => answered === named

const total = (counted: readonly { count: number }[]): number => counted.reduce((sum, { count }) => sum + count, 0)

function agreement(rated: readonly RatedAlike[]): number | null {
  const all = total(rated)
  return all === 0 ? null : total(rated.filter(isAgreed)) / all
}

const countsBy = <Counted extends { count: number }>(
  counted: readonly Counted[],
  labelOf: (each: Counted) => string,
): Map<string, number> =>
  new Map([...Map.groupBy(counted, labelOf)].map(([label, group]) => [label, total(group)] as const))

/** Groups by a label, the one that counts most first. */
const frequentFirst = <Counted extends { count: number }>(
  counted: readonly Counted[],
  labelOf: (each: Counted) => string,
): [label: string, group: Counted[]][] =>
  [...Map.groupBy(counted, labelOf)].toSorted(
    ([left, lefts], [right, rights]) => total(rights) - total(lefts) || (left < right ? -1 : 1),
  )
