/** The lines' colors and dashes, newest version first. */
const LINE_STYLES = [
  { color: 'var(--series-1)', dashes: '0' },
  { color: 'var(--series-2)', dashes: '7 3' },
  { color: 'var(--series-3)', dashes: '2 3' },
  { color: 'var(--series-5)', dashes: '9 3 2 3' },
] as const

export const lineStyle = (index: number) => LINE_STYLES[index % LINE_STYLES.length] ?? LINE_STYLES[0]

/** The colors and patterns of reviewers' bars. */
const BAR_COLORS = [1, 2, 3, 4, 5, 6].map(number => `var(--series-${number})`)

export const barColor = (index: number): string => BAR_COLORS[index % BAR_COLORS.length] ?? 'var(--series-1)'
