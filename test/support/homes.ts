import { HOMES } from '../../src/store/schema/homes.ts'

/* Finds the statements and batches that need both a trace's database and the control database. */

/** A statement's tables: the one that it writes, and all that it uses. */
interface Tables {
  written: string | undefined
  used: readonly string[]
}

const HOME_OF = new Map<string, string>(Object.entries(HOMES))

/** The tables in a statement's SQL. Their names come after a keyword or before a column's name. */
function tablesOf(sql: string): Tables {
  const text = sql.replace(/'(?:[^']|'')*'/g, "''")
  const named = [...text.matchAll(/\b(?:from|join|into|update)\s+\(*"?(\w+)"?|"(\w+)"\."/gi)]
  const written = /\b(?:insert\s+into|delete\s+from)\s+"?(\w+)|^\s*(?:with\b[\s\S]*\)\s*)?update\s+"?(\w+)/i.exec(text)
  return {
    written: written?.[1] ?? written?.[2],
    used: [...new Set(named.map(([, after, before]) => after ?? before ?? ''))]
      .filter(name => HOME_OF.has(name))
      .sort(),
  }
}

const tablesIn = (tables: readonly (string | undefined)[], ...homes: string[]): string[] =>
  tables.filter(table => table !== undefined).filter(table => homes.includes(HOME_OF.get(table) ?? ''))

/** Lists a statement's or batch's tables from different databases. Undefined if one database is enough. */
const mixOf = (kind: string, trace: readonly string[], control: readonly string[]): string | undefined =>
  trace.length > 0 && control.length > 0 ? `${kind}: ${unique(trace)} with ${unique(control)}` : undefined

const unique = (tables: readonly string[]): string => [...new Set(tables)].sort().join(', ')

/**
 * Lists a round trip's tables from different databases: those that a single statement uses, and those that the round
 * trip's statements write together. Only the writes in a batch have to be in one database.
 */
export function mixesOf(statements: readonly string[]): string[] {
  const each = statements.map(tablesOf)
  const mixed = each.map(({ written, used }) => {
    const control = [...tablesIn(used, 'control'), ...tablesIn([written], 'copied')]
    return mixOf(written === undefined ? 'select' : `write ${written}`, tablesIn(used, 'trace'), control)
  })
  const written = each.map(tables => tables.written)
  const batch = mixOf('batch', tablesIn(written, 'trace'), tablesIn(written, 'control', 'copied'))
  return [...mixed, batch].filter(mix => mix !== undefined)
}
