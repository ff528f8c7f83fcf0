import { sql } from 'drizzle-orm'
import { PURGE_ROWS } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { promptSuggestionExamples, promptSuggestions } from '../schema/prompt-suggestions.ts'

/**
 * Removes a deleted trace from some of the suggested prompts that have it as an example. Also deletes the reasons for
 * these suggestions, which may quote the trace. The suggested changes stay, because they're part of a prompt. Returns
 * whether there may be more.
 */
export async function deleteSuggestionExamples({ database }: Store, traceKey: number): Promise<boolean> {
  const some = sql`(select version_id, span_id from ${promptSuggestionExamples}
    where ${promptSuggestionExamples.traceKey} = ${traceKey} order by version_id, span_id limit ${PURGE_ROWS})`
  const [, { meta }] = await database.batch([
    database
      .update(promptSuggestions)
      .set({ reasons: null })
      .where(sql`${promptSuggestions.versionId} in (select chosen.version_id from ${some} as chosen)`),
    database.delete(promptSuggestionExamples).where(sql`(version_id, span_id) in ${some}`),
  ])
  return meta.changes === PURGE_ROWS
}
