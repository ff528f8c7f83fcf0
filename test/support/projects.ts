import { copyNow, stored } from './database.ts'

/** Deletes a project as another isolate would, so that this isolate keeps it cached and nothing is purged. */
export async function deleteElsewhere(id: string): Promise<void> {
  await stored
    .prepare(
      `update projects set deleted_at = ?, purge_due_at = ?, slug = '~' || id, name = '', retention_days = null,
       auto_attribute = 0 where id = ?`,
    )
    .bind(Date.now(), Date.now() + 60_000, id)
    .run()
  await copyNow()
}
