/** The parts of a span's panel. */
export const SECTIONS = ['output', 'input', 'state', 'metadata', 'observations', 'feedback', 'reviews'] as const
export type Section = (typeof SECTIONS)[number]

/** A place in a span: a section of its panel and a dotted path in it; '' is the whole value. */
export interface Place {
  section: Section
  /** Which of the section's values contains the path, if any. */
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

/** The place for a path such as `output.items[2].qty` or `state.documents.0`; undefined if it isn't in a span. */
export function placeOf(path: string): Place | undefined {
  const dotted = path.replace(/\[(\d+)\]/g, '.$1')
  const [head = ''] = dotted.split('.', 1)
  const value = VALUES.get(head)
  return value && { ...value, path: dotted.slice(head.length + 1) }
}

export const isSection = (text: string | null): text is Section => SECTIONS.some(section => section === text)
