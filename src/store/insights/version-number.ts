import { sql } from 'drizzle-orm'
import { textVersions } from '../schema/texts.ts'

/** A version's number. It is counted only where the release before added the version while this one's schema was there. */
export const versionNumber = sql`coalesce(${textVersions.number}, (
  select count(*) from ${textVersions} older
  where older.text_key = ${textVersions.textKey} and older.key <= ${textVersions.key}))`
