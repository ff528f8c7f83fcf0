/** Reads CSV as RFC 4180 defines it. Throws for anything else. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  for (let row: string[] = []; cell.lastIndex < text.length; ) {
    const place = cell.lastIndex
    const match = cell.exec(text)
    if (!match) throw new Error(`not CSV at ${place}: ${text.slice(place, place + 50)}`)
    const [, quoted, plain = '', end] = match
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

/** The rows of a CSV file as objects whose keys come from the file's header. */
export function recordsIn(text: string): Record<string, string>[] {
  const [header = [], ...rows] = parseCsv(text)
  return rows.map(row => {
    if (row.length !== header.length) throw new Error(`a row has ${row.length} cells instead of ${header.length}`)
    return Object.fromEntries(row.map((cell, index) => [header[index] ?? '', cell]))
  })
}
