import { existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { shardsToHave } from './shards.ts'

/**
 * The size of the largest database that's checked in full on each start, which takes about a second per gigabyte. For
 * larger databases, only the schema is checked.
 */
const CHECKED_BYTES = 256 * 1024 * 1024

/**
 * Creates the directory for a local installation's data and locks it for this process until the process ends. If the
 * process is killed, the operating system releases the lock. If another process has locked the directory, if the
 * directory can't be written to, or if a database in it is damaged, throws an error that says what to do.
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
  if (damaged) throw new Error(`The database ${damaged} is damaged. Restore ${directory} from a backup. ${elsewhere}`)
}

/**
 * How many databases for traces a local installation has besides DB: the number asked for, or by default, the number
 * that it already has. Saves the number before any of the databases is created. Throws an error that mentions SHARDS if
 * existing databases would be left out.
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

/** Referenced until the process exits, because garbage collection of the database would release the lock. */
let held: DatabaseSync | undefined

/** Takes the lock, which is a transaction that never ends, in a database that has no other purpose. */
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
