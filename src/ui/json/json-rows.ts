import { escapePointerStep } from '../../domain/json-pointer.ts'
import type { Json } from '../api/wire.ts'

/** Longer strings are truncated at first. */
export const FOLDED_STRING_LENGTH = 1_200
const FOLDED_CHILDREN = 200
const OPEN_DEPTH = 3

/** A line of a value: a scalar, an empty object or array, or the first line of one that isn't empty. */
export interface JsonRow {
  /** A JSON pointer (RFC 6901), which distinguishes `{"a.b": 1}` from `{"a": {"b": 1}}`. */
  pointer: string
  /** The dotted path, as in the API; '' if the whole value has a single line. */
  path: string
  /** The field's name, or an item's index; null for the value itself. */
  name: string | null
  depth: number
  value: Json
  /** The number of children; null if there is nothing to open. */
  size: number | null
  isOpen: boolean
}

/** Whether a value is open at first. */
const isOpenByDefault = (depth: number, size: number): boolean => depth < OPEN_DEPTH && size <= FOLDED_CHILDREN

/**
 * The lines of a value, top to bottom. The value itself has a line only if it has no children. `toggled` contains the
 * pointers of the lines that were opened or closed. The function isn't recursive, because values may be deeply nested.
 */
export function jsonRows(root: Json, toggled: ReadonlySet<string>): JsonRow[] {
  const rows: JsonRow[] = []
  const waiting = childRows(root, { pointer: '', path: '', depth: -1 }).toReversed()
  if (waiting.length === 0) waiting.push(asRow({ pointer: '', path: '', name: null, depth: 0, value: root }))
  for (let row = waiting.pop(); row; row = waiting.pop()) {
    const isOpen = row.size !== null && isOpenByDefault(row.depth, row.size) !== toggled.has(row.pointer)
    rows.push({ ...row, isOpen })
    if (!isOpen) continue
    for (const child of childRows(row.value, row).toReversed()) waiting.push(child)
  }
  return rows
}

/** Extends `toggled` so that the line with this path, or its closest ancestor, is visible. */
export function toggledToShow(root: Json, path: string, toggled: ReadonlySet<string>): ReadonlySet<string> {
  const needed = new Set(toggled)
  for (const { pointer, depth, size } of ancestorsOf(root, path)) {
    if (size === null || isOpenByDefault(depth, size) !== needed.has(pointer)) continue
    if (!needed.delete(pointer)) needed.add(pointer)
  }
  return needed
}

/** The ancestors of a path's line, outermost first. Field names may contain dots, so the longest match is used. */
function ancestorsOf(root: Json, path: string): JsonRow[] {
  const found: JsonRow[] = []
  let rows = childRows(root, { pointer: '', path: '', depth: -1 })
  for (;;) {
    const next = rows
      .filter(row => path.startsWith(`${row.path}.`))
      .toSorted((left, right) => right.path.length - left.path.length)[0]
    if (!next) return found
    found.push(next)
    rows = childRows(next.value, next)
  }
}

function childRows(value: Json, { pointer, path, depth }: Pick<JsonRow, 'pointer' | 'path' | 'depth'>): JsonRow[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).map(([name, child]) =>
    asRow({
      pointer: `${pointer}/${escapePointerStep(name)}`,
      path: depth === -1 ? name : `${path}.${name}`,
      name,
      depth: depth + 1,
      value: child,
    }),
  )
}

function asRow(place: Omit<JsonRow, 'size' | 'isOpen'>): JsonRow {
  const { value } = place
  const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
  return { ...place, size: size === 0 ? null : size, isOpen: false }
}
