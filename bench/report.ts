/** The bound that a figure must meet. */
export type Goal = { atLeast: number } | { atMost: number }

/** One line of the report. */
export interface Measurement {
  what: string
  /** Undefined if the line consists only of `more`. */
  value?: number
  /** The value's unit; absent for a ratio or a count. */
  unit?: string
  /** The range of the middle half of the values, if `value` is their median. */
  spread?: [low: number, high: number]
  goal?: Goal
  /** Additional figures, one column each. */
  more?: Record<string, number>
}

/** A table of the report. */
export interface Section {
  title: string
  /** Notes on how to interpret the figures. */
  notes?: string[]
  measurements: Measurement[]
}

/** How far a value is from its goal; 0 if it meets the goal. */
export function missedBy(value: number, goal: Goal): number {
  return 'atLeast' in goal ? Math.max(0, goal.atLeast - value) : Math.max(0, value - goal.atMost)
}

/** A section as text with aligned columns. */
export function tableOf({ title, notes = [], measurements }: Section): string {
  const hasValues = measurements.some(({ value }) => value !== undefined)
  const hasGoals = measurements.some(({ goal }) => goal !== undefined)
  const more = [...new Set(measurements.flatMap(({ more = {} }) => Object.keys(more)))]
  const header = ['', ...(hasValues ? ['measured'] : []), ...(hasGoals ? ['goal', ''] : []), ...more]
  const rows = measurements.map(measurement => [
    measurement.what,
    ...(hasValues ? [valueText(measurement)] : []),
    ...(hasGoals ? [goalText(measurement.goal), verdict(measurement)] : []),
    ...more.map(column => cellText(measurement.more?.[column])),
  ])
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map(row => row[column]?.length ?? 0)))
  const lines = [header, ...rows].map(row =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
  return [`\n${title}`, ...notes, '', ...lines].join('\n')
}

function valueText({ value, unit = '', spread }: Measurement): string {
  if (value === undefined) return ''
  const range = spread ? ` (${numberText(spread[0])} to ${numberText(spread[1])})` : ''
  return `${numberText(value)}${range}${unit && ` ${unit}`}`
}

const goalText = (goal: Goal | undefined): string =>
  goal === undefined ? '' : 'atLeast' in goal ? `≥ ${numberText(goal.atLeast)}` : `≤ ${numberText(goal.atMost)}`

function verdict({ value, goal }: Measurement): string {
  if (goal === undefined || value === undefined) return ''
  const missed = missedBy(value, goal)
  if (missed === 0) return 'met'
  const bound = 'atLeast' in goal ? goal.atLeast : goal.atMost
  return `missed by ${numberText(missed)} (${Math.round((missed / bound) * 100)}%)`
}

const cellText = (cell: number | undefined): string => (cell === undefined ? '' : numberText(cell))

/** Formats a number to three significant digits, but keeps all digits before the point. */
function numberText(value: number): string {
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** How much to measure. */
export interface Options {
  /** Only enough to show that everything works; the figures are meaningless. */
  isQuick: boolean
  /** Also measure the largest scale, which is slow. */
  isLarge: boolean
  /** Run only the neighbor attacks whose names contain this text. */
  attack: string
}

export type Benchmark = (options: Options) => Promise<Section[]>
