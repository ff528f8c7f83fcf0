import type { Gate, GateState } from '../api/wire.ts'
import { count, counted, itemCount, share } from '../parts/format.ts'

type Condition = GateState['unmet'][number]['condition']

/** A condition on the experiment's results. */
type Figure = Exclude<Condition, 'maxAgeDays'>

const days = (value: number): string => counted(Math.floor(value), 'day')

const REQUIREMENTS: Readonly<Record<Figure, (required: number, split: string) => string>> = {
  minItems: (required, split) => `at least ${counted(required, 'judged item')} in the ${split} split`,
  minPassRate: required => `a pass rate of at least ${share(required, 1)}`,
  maxRegressed: required => (required === 0 ? 'no regressions' : `at most ${counted(required, 'regression')}`),
  maxUnjudged: required => (required === 0 ? 'no unjudged items' : `at most ${counted(required, 'unjudged item')}`),
}

const FIGURES = ['minItems', 'minPassRate', 'maxRegressed', 'maxUnjudged'] as const

const list = new Intl.ListFormat('en', { type: 'conjunction' })

/** Describes what a gate requires of an experiment. */
export const requirementsOf = (gate: Gate): string =>
  gate.maxAgeDays === null
    ? `shows ${figuresOf(gate)}`
    : `finished at most ${days(gate.maxAgeDays)} ago and shows ${figuresOf(gate)}`

const figuresOf = (gate: Gate): string =>
  list.format(
    FIGURES.flatMap(condition => {
      const required = gate[condition]
      return required === null ? [] : [REQUIREMENTS[condition](required, gate.split)]
    }),
  )

const SHORTFALLS: Readonly<Record<Condition, (actual: number, required: number) => string>> = {
  minItems: (actual, required) =>
    `${itemCount(actual)} ${actual === 1 ? 'is' : 'are'} judged; the gate requires at least ${count(required)}.`,
  minPassRate: (actual, required) => `The pass rate is ${rate(actual)}; the gate requires at least ${rate(required)}.`,
  maxRegressed: (actual, required) => `${itemCount(actual)} regressed; the gate allows ${atMost(required)}.`,
  maxUnjudged: (actual, required) =>
    `${itemCount(actual)} ${actual === 1 ? 'is' : 'are'} unjudged; the gate allows ${atMost(required)}.`,
  maxAgeDays: (actual, required) =>
    `The experiment finished ${days(actual)} ago; the gate allows at most ${days(required)}.`,
}

const atMost = (value: number): string => (value === 0 ? 'none' : `at most ${count(value)}`)

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

/** Rounds a rate down, so that it never appears to reach a higher required rate. */
const rate = (value: number): string => percent.format(Math.floor(value * 1000) / 1000)

/** What a version still lacks, in sentences. */
export const shortfallsOf = ({ experimentId, unmet }: GateState): string[] =>
  experimentId === null
    ? ['No experiment with this version counts toward the gate yet.']
    : unmet.map(({ condition, required, actual }) =>
        actual === null
          ? `The experiment has no judged items, so there's no pass rate.`
          : SHORTFALLS[condition](actual, required),
      )
