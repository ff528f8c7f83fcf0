import * as v from 'valibot'
import { fileEndpoint } from '../api/endpoint.ts'
import { fileName } from '../api/file-formats.ts'
import { startingWith } from '../api/file-plan.ts'
import { DATASET_ID } from '../api/story.ts'
import { writeVersion } from '../domain/dataset-version.ts'
import { columnsOfSchema } from '../domain/output-columns.ts'
import { described, Uuid } from '../http/atoms.ts'
import { cursorOf, placeOf } from '../http/cursor.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_FILE_CURSOR_LENGTH, MAX_FILE_ITEMS, STORE_DEADLINE_MS } from '../limits.ts'
import { Deadline } from '../store/core/deadline.ts'
import { reopenStore } from '../store/core/store.ts'
import type { DatasetItem } from '../store/datasets/item-values.ts'
import type { ItemHead, ItemPlace } from '../store/datasets/items.ts'
import { findStepVersion } from '../store/experiments/prompts.ts'
import { csvExample, jsonLinesExample } from './examples.ts'
import { columnsOf, writeChats, writeItems, writeTable } from './export-formats.ts'
import { planItems, readItemsInParts } from './export-reading.ts'
import { partsAt, requireDataset, Split, Version } from './wire.ts'

/** The split that prompts and models may learn from. */
const TRAIN = 'train'

/** The formats, each with its media type and file extension. */
const FORMATS = {
  jsonl: ['application/jsonl', 'jsonl'],
  csv: ['text/csv', 'csv'],
  chat: ['application/jsonl', 'chat.jsonl'],
} as const

const CURSOR_PLACE = ['string', 'string', 'string', 'number', 'string'] as const

export const exportDataset = fileEndpoint({
  family: 'dataset',
  method: 'GET',
  path: '/api/datasets/{datasetId}/export',
  summary: 'Export a dataset as a file',
  description: `A file has up to ${MAX_FILE_ITEMS} items and 64 MiB of values. If there are more items, the response has the header \`x-next-cursor\`: send its value as \`cursor\` to get the next file, from the same version of the dataset. \`jsonl\` has one item per line and ends with the line \`{"end": true, "items": <count>}\`. \`csv\` has a column for each field of the expected output. \`chat\` is for fine-tuning and few-shot prompts: it has \`{"messages": […]}\` on each line, and covers only items in the \`train\` split that are neither excluded nor stale.`,
  scope: 'read',
  reads: 'primary',
  params: v.object({ datasetId: Uuid }),
  query: v.strictObject({
    format: v.picklist(['jsonl', 'csv', 'chat']),
    version: v.optional(Version),
    split: described(v.optional(Split), 'Default: all splits. `chat` exports only `train`.'),
    cursor: described(
      v.optional(v.pipe(v.string(), v.maxLength(MAX_FILE_CURSOR_LENGTH, 'is not a cursor for this export'))),
      'The `x-next-cursor` of the previous file. Send it with the same parameters.',
    ),
  }),
  responses: { 200: v.string() },
  files: { 'application/jsonl': jsonLinesExample, 'text/csv': csvExample },
  example: {
    params: { datasetId: DATASET_ID },
    query: { format: 'jsonl', split: 'test' },
    answers: { 200: jsonLinesExample },
  },
}).handle(async context => {
  const { params, query, store, runtime } = context
  const { format } = query
  const split = splitOf(query)
  const dataset = await requireDataset(context, params.datasetId)
  const list = ['dataset-export', store.organization.id, dataset.id, format, split ?? '']
  const place = await placeOf(list, CURSOR_PLACE, query.cursor, 'cursor')
  if (place && query.version !== undefined && query.version !== place[0]) {
    throw badRequest('is not a cursor for this version', 'cursor')
  }
  const parts = await partsAt(dataset, place?.[0] ?? query.version)
  const version = await writeVersion(parts)
  const isWanted = (head: ItemHead) =>
    (split === undefined || head.split === split) && (format !== 'chat' || isUsable(head))
  const after: ItemPlace | undefined = place && [place[2], place[3], place[4]]
  const { planned, nextPlace } = await planItems(store, dataset, { parts, after, isWanted })
  const reopen = () => reopenStore(runtime.env, store, new Deadline(STORE_DEADLINE_MS))
  const read = readItemsInParts(store, reopen, dataset, { parts, planned })
  // If this fails, the response is an error instead of half a file.
  const { value: first = [] } = await read.next()
  const columns = format === 'csv' ? (columnsIn(place?.[1]) ?? (await findColumns(first))) : []
  const [type, ending] = FORMATS[format]
  return {
    type,
    name: `${fileName(dataset.stepId, split ?? 'all', version)}.${ending}`,
    pieces: WRITERS[format](startingWith(first, read), columns),
    nextCursor: await cursorOf(list, nextPlace && [version, JSON.stringify(columns), ...nextPlace]),
  }

  async function findColumns(items: readonly DatasetItem[]): Promise<string[]> {
    const active = await findStepVersion(store, dataset, null)
    const declared = active?.schema ? columnsOfSchema(JSON.parse(active.schema)) : []
    return declared.length > 0 ? declared : columnsOf(items)
  }
})

const WRITERS = { jsonl: writeItems, csv: writeTable, chat: writeChats }

/** The split to export. 400 if the format is for training and models may not learn from the split. */
function splitOf({ format, split }: { format: string; split?: string | undefined }): string | undefined {
  if (format !== 'chat') return split
  if (split !== undefined && split !== TRAIN) {
    throw badRequest("must be `train`: a model must not learn from the items that it's tested on", 'split')
  }
  return TRAIN
}

/** Whether a model may learn from an item. */
const isUsable = ({ isExcluded, isStale, isStaleNow }: ItemHead): boolean => !isExcluded && !isStale && !isStaleNow

/** The columns in a cursor. A forged cursor may contain anything. */
const columnsIn = (json: string | undefined): string[] | undefined => {
  if (json === undefined) return undefined
  try {
    const columns: unknown = JSON.parse(json)
    if (v.is(v.array(v.string()), columns)) return columns
  } catch {
    // It isn't JSON, so the error below is thrown.
  }
  throw badRequest('is not a cursor for this export', 'cursor')
}
