import * as v from 'valibot'
import type { Client } from './client.ts'
import { type Database, runRepeatable } from './server.ts'

const Dataset = v.object({ id: v.string() })
const Page = v.object({ nextCursor: v.nullable(v.string()) })

/** The maximum number of items on a page. */
const PAGE = 200

/** Creates the dataset for the sample traces' answering step. */
export async function makeDataset(client: Client): Promise<string> {
  const { body } = await client.call('PUT', '/api/datasets', { projectSlug: 'bench', stepId: 'answer' })
  return v.parse(Dataset, JSON.parse(body)).id
}

/** Traces per statement, which must finish within seconds. */
const TRACES_PER_STATEMENT = 50_000

/**
 * Creates an item from each sample trace's answer. The rows look as if somebody had accepted each answer through the
 * API, but writing them directly is many times faster. `is_root = 0` lets SQLite use the index of a trace's spans;
 * without it, SQLite would scan all answers for each trace.
 */
export async function addItems(database: Database, traces: number): Promise<void> {
  const input = JSON.stringify({ question: 'How long is the warranty?' })
  const output = JSON.stringify({ answer: 'The warranty is 24 months from the day of purchase.' })
  const insert = database.prepare(
    `insert or ignore into dataset_entries (project_key, step_id, trace_key, item_id, sequence, change, decision, split,
       is_split_set, is_excluded, is_stale, values_sequence, review_id, reviewed_id, decided_at, input_hash,
       output_revision, input, output, expected, metadata)
     select traces.project_key, 'answer', traces.key, spans.id, numbered.number, 'decision', 'accept', 'train', 0, 0, 0,
       numbered.number, spans.id, spans.id, traces.timestamp, spans.id, spans.id, ?1, ?2, ?2, '{}'
     from (select key, row_number() over (order by key) as number from traces order by key limit ?3 offset ?4) as numbered
     cross join traces cross join spans
     where traces.key = numbered.key and spans.trace_key = traces.key and spans.is_root = 0 and spans.step_id = 'answer'`,
  )
  for (let offset = 0; offset < traces; offset += TRACES_PER_STATEMENT) {
    await runRepeatable(insert.bind(input, output, TRACES_PER_STATEMENT, offset))
  }
  await runRepeatable(
    database.prepare(
      'update datasets set accepted = entries.n, sequence = entries.n from (select count(*) as n from dataset_entries) as entries',
    ),
  )
}

/** The cursor after the first half of a dataset's items. */
export async function findMiddle(client: Client, datasetId: string, items: number): Promise<string> {
  let cursor = ''
  for (let place = 0; place < items / 2; place += PAGE) {
    const query = `limit=${Math.min(PAGE, items / 2 - place)}&payloads=preview${cursor && `&cursor=${cursor}`}`
    const { body } = await client.call('GET', `/api/datasets/${datasetId}/items?${query}`)
    cursor = v.parse(Page, JSON.parse(body)).nextCursor ?? ''
  }
  return cursor
}
