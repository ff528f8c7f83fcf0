import type { SpanRow } from './span-tree.ts'

/** A key's action in the tree: move to another row, or fold or open a span. */
export type TreeAction = { to: number } | { fold: string } | { open: string }

interface TreePlace {
  /** The visible rows. */
  rows: readonly Pick<SpanRow, 'span' | 'depth' | 'childCount'>[]
  /** The active row. */
  index: number
  isFolded: (id: string) => boolean
  /** How many rows Page Up and Page Down move by. */
  page: number
}

/** The action for a key, as in any tree view. Undefined if it has none. */
export function treeAction(key: string, { rows, index, isFolded, page }: TreePlace): TreeAction | undefined {
  const to = (place: number): TreeAction => ({ to: Math.min(Math.max(place, 0), rows.length - 1) })
  const row = rows[index]
  if (!row) return rows.length > 0 ? to(0) : undefined
  const { span, depth, childCount } = row
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return to(index + 1)
    case 'ArrowUp':
    case 'k':
      return to(index - 1)
    case 'PageDown':
      return to(index + page)
    case 'PageUp':
      return to(index - page)
    case 'Home':
      return to(0)
    case 'End':
      return to(rows.length - 1)
    case 'ArrowRight':
      if (childCount === 0) return undefined
      return isFolded(span.id) ? { open: span.id } : to(index + 1)
    case 'ArrowLeft': {
      if (childCount > 0 && !isFolded(span.id)) return { fold: span.id }
      const parent = rows.slice(0, index).findLastIndex(other => other.depth < depth)
      return parent < 0 ? undefined : to(parent)
    }
    default:
      return undefined
  }
}
