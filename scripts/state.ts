import { existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { shardsToHave } from './shards.ts'

/**
 * The largest database that's checked in full on each start, at about a second per gigabyte. For a larger one, only the
 * schema is checked.
 */
const CHECKED_BYTES = 256 * 1024 * 1024

/**
 * Creates the directory for a local installation's data and locks it for this process until the process ends. The
 * operating system drops the lock of a killed process. Throws an error that says what to do if another process holds
 * the directory, if it can't be written to, or if a database in it is damaged.
 */
export function takeStateDirectory(directory: string): void {
  const elsewhere = 'Choose a different directory: STATE_DIR=<path> npm start'
  try {
    mkdirSync(directory, { recursive: true })
  } catch (error) {
    throw new Error(`${directory} can't be used as a data directory (${codeOf(error)}). ${elsewhere}`)
  }
  try {
    lock(join(directory, 'lock'))
  } catch (error) {
    if (isSqlite(error, SQLITE_BUSY)) throw new Error(`Another npm start is using ${directory}. Stop it. ${elsewhere}`)
    throw new Error(`${directory} can't be locked: ${error instanceof Error ? error.message : error}. ${elsewhere}`)
  }
  const damaged = globSync(join(directory, 'v3/**/*.sqlite')).find(isDamaged)
  if (damaged)
    throw new Error(`The database ${damaged} is damaged. Put a copy of ${directory} in its place. ${elsewhere}`)
}

/**
 * How many databases for traces a local installation has besides DB: as many as before, or as many as are asked for
 * now. Remembers the number before any of them is created. Throws an error that names SHARDS if databases would be left
 * out.
 */
export function keepShards(directory: string, asked: number | undefined): number {
  const file = join(directory, 'shards')
  const existing = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const shards = shardsToHave(asked, existing)
  if (shards === undefined)
    throw new Error(
      `SHARDS must be at least ${existing}: ${directory} has ${existing} shards, and traces can't be moved out of them`,
    )
  if (shards !== existing) {
    writeFileSync(`${file}.new`, String(shards))
    renameSync(`${file}.new`, file)
  }
  return shards
}

const SQLITE_BUSY = 5

/** Referenced until the process ends, because the lock is released when its database is garbage-collected. */
let held: DatabaseSync | undefined

/** Locks with a transaction that never ends, in a database that serves only as the lock. */
function lock(file: string): void {
  held = new DatabaseSync(file, { timeout: 0 })
  held.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
}

function isDamaged(file: string): boolean {
  const database = new DatabaseSync(file)
  try {
    const isSmall = statSync(file).size <= CHECKED_BYTES
    const check = database.prepare(
      isSmall ? 'PRAGMA quick_check(1)' : 'SELECT count(*) AS quick_check FROM sqlite_schema',
    )
    const found = check.get()?.quick_check
    return isSmall && found !== 'ok'
  } catch {
    // It isn't a database, or its schema can't be read.
    return true
  } finally {
    database.close()
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : error)

const isSqlite = (error: unknown, code: number): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === code
