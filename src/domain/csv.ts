/* CSV as RFC 4180 defines it, safe to open in a spreadsheet. */

/** A row with its line break. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(quoted).join(',')}\r\n`

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/**
 * The cell for a string. Spreadsheets run a string as a formula if it begins with one of these characters, so such a
 * string gets an apostrophe (OWASP, "CSV injection").
 */
export const textCell = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

/** The cell for a value given as JSON: a string's text, nothing for null, and JSON for everything else. */
export function jsonCell(json: string): string {
  if (json === 'null') return ''
  return json.startsWith('"') ? textCell(JSON.parse(json)) : json
}

/** The cell for a number, or nothing if there's none. */
export const numberCell = (value: number | null | undefined): string => (value == null ? '' : String(value))
