/** The parts of a span's panel. */
const SECTIONS = ['output', 'input', 'state', 'metadata', 'observations', 'feedback', 'reviews'] as const
export type Section = (typeof SECTIONS)[number]

/** A place in a span: a part of its panel, and the dotted path in what that shows; '' is all of it. */
export interface Place {
  section: Section
  /** Which of the section's values. */
  value: 'output' | 'approvedOutput' | 'input' | 'state' | 'metadata' | null
  path: string
}

const VALUES = new Map<string, Pick<Place, 'section' | 'value'>>([
  ['output', { section: 'output', value: 'output' }],
  ['approvedOutput', { section: 'output', value: 'approvedOutput' }],
  ['input', { section: 'input', value: 'input' }],
  ['state', { section: 'state', value: 'state' }],
  ['metadata', { section: 'metadata', value: 'metadata' }],
  ['feedback', { section: 'feedback', value: null }],
])

/** Where a path such as `output.items[2].qty` or `state.documents.0` leads; undefined: to no value of a span. */
export function placeOf(path: string): Place | undefined {
  const dotted = path.replace(/\[(\d+)\]/g, '.$1')
  const [head = ''] = dotted.split('.', 1)
  const value = VALUES.get(head)
  return value && { ...value, path: dotted.slice(head.length + 1) }
}

export const isSection = (text: string | null): text is Section => SECTIONS.some(section => section === text)
