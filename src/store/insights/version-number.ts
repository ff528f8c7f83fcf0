import { sql } from 'drizzle-orm'
import { textVersions } from '../schema/texts.ts'

/**
 * A version's number. Only versions that the previous release added after this release's migration have no stored
 * number. Their numbers are counted.
 */
export const versionNumber = sql`coalesce(${textVersions.number}, (
  select count(*) from ${textVersions} older
  where older.text_key = ${textVersions.textKey} and older.key <= ${textVersions.key}))`
