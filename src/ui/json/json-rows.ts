import type { Json } from '../api/wire.ts'

/** Strings longer than this, and lists of more items, begin folded. */
export const FOLDED_STRING_LENGTH = 1_200
const FOLDED_CHILDREN = 200
const OPEN_DEPTH = 4

/** A line of a value as it is shown: a scalar or something empty, or the head of an object or array whose children are the lines below it. */
export interface JsonRow {
  /** Dotted, as the API writes paths; '' for the value itself. */
  path: string
  /** The field's name, or an item's index; null for the value itself. */
  name: string | null
  depth: number
  value: Json
  /** How many children it has; null for a scalar, and where there is nothing to open. */
  size: number | null
  isOpen: boolean
}

/** Whether a value is shown open before anybody said anything. */
const opensItself = (depth: number, size: number): boolean => depth < OPEN_DEPTH && size <= FOLDED_CHILDREN

/** The lines of a value, top to bottom. `toggled` names the paths that are not as they began. Never recursive: values may be deep. */
export function jsonRows(root: Json, toggled: ReadonlySet<string>): JsonRow[] {
  const rows: JsonRow[] = []
  const open: { path: string; name: string | null; depth: number; value: Json }[] = [
    { path: '', name: null, depth: 0, value: root },
  ]
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, name, depth, value } = next
    const children = childrenOf(value)
    if (!children || children.length === 0) {
      rows.push({ path, name, depth, value, size: null, isOpen: false })
      continue
    }
    const isOpen = opensItself(depth, children.length) !== toggled.has(path)
    rows.push({ path, name, depth, value, size: children.length, isOpen })
    if (!isOpen) continue
    for (const [childName, child] of children.toReversed()) {
      open.push({
        path: path === '' ? childName : `${path}.${childName}`,
        name: childName,
        depth: depth + 1,
        value: child,
      })
    }
  }
  return rows
}

/** What must be toggled so that the line with this path is among the lines. */
export function toggledToShow(root: Json, path: string, toggled: ReadonlySet<string>): ReadonlySet<string> {
  const needed = new Set(toggled)
  const ancestors = jsonRowsOnTheWay(root, path)
  for (const { path: ancestor, depth, size } of ancestors) {
    const isOpen = opensItself(depth, size) !== needed.has(ancestor)
    if (isOpen) continue
    if (needed.has(ancestor)) needed.delete(ancestor)
    else needed.add(ancestor)
  }
  return needed
}

/** The objects and arrays that hold what a path names, outermost first. Field names may have dots in them. */
function jsonRowsOnTheWay(root: Json, path: string): { path: string; depth: number; size: number }[] {
  const found = []
  let value = root
  let at = ''
  let rest = path
  for (let depth = 0; rest !== ''; depth += 1) {
    const children = childrenOf(value)
    const child = children
      ?.filter(([name]) => rest === name || rest.startsWith(`${name}.`))
      .toSorted(([left], [right]) => right.length - left.length)[0]
    if (!children || !child) break
    found.push({ path: at, depth, size: children.length })
    at = at === '' ? child[0] : `${at}.${child[0]}`
    rest = rest.slice(child[0].length + 1)
    value = child[1]
  }
  return found
}

function childrenOf(value: Json): [string, Json][] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.entries(value)
}
