import { sql } from 'drizzle-orm'
import { textVersions } from '../schema/texts.ts'

/**
 * A version's number. It only has to be counted for versions that the previous release added after this release's
 * migration.
 */
export const versionNumber = sql`coalesce(${textVersions.number}, (
  select count(*) from ${textVersions} older
  where older.text_key = ${textVersions.textKey} and older.key <= ${textVersions.key}))`
