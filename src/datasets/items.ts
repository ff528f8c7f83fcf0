import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CORRECTION, CURSOR, DATASET_ID, METADATA, QUESTION, SPAN_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { ITEM_DECISIONS } from '../domain/dataset.ts'
import { writeVersion } from '../domain/dataset-version.ts'
import { newId } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import { described, jsonPayload, object, objectOfBytes, record, shownAs, text, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest, conflict, notFound, unavailable, unprocessable } from '../http/errors.ts'
import { BatchResult, Results } from '../http/results.ts'
import { parse } from '../http/validation.ts'
import {
  MAX_BATCH_BYTES,
  MAX_IMPORT,
  MAX_IMPORTED_ITEMS,
  MAX_LISTED_ITEMS,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_NOTE_LENGTH,
} from '../limits.ts'
import { TrueOrFalse } from '../read/trace-filters.ts'
import { Payloads } from '../read/wire.ts'
import { changeItem } from '../store/datasets/changes.ts'
import { importExamples } from '../store/datasets/imports.ts'
import { readItems, readPage } from '../store/datasets/item-values.ts'
import { countRemoved, findHeads, type ItemHead, walkMatching } from '../store/datasets/items.ts'
import { DATASET_VERSION, item } from './examples.ts'
import { DatasetItem, partsAt, requireDataset, Split, toItem, Version } from './wire.ts'

const Filters = {
  split: v.optional(Split),
  decision: described(
    v.optional(v.picklist(ITEM_DECISIONS)),
    'accept, correct: items whose output a reviewer accepted or corrected. import: imported examples, which nobody has decided on.',
  ),
  errorType: v.optional(v.pipe(v.string(), v.maxLength(MAX_NAME_LENGTH))),
  excluded: v.optional(TrueOrFalse),
}

export const listItems = endpoint({
  family: 'dataset',
  method: 'GET',
  path: '/api/datasets/{datasetId}/items',
  summary: "List a dataset's items",
  description: `Items of the newest traces come first, imported examples last. If you filter, each page looks at up to ${MAX_LISTED_ITEMS} items, so it may be short even if more items follow. A page holds up to 8 MiB of values, or one item if that item is larger.`,
  scope: 'read',
  params: v.object({ datasetId: Uuid }),
  query: v.strictObject({ version: v.optional(Version), ...Filters, payloads: Payloads, ...pageParameters }),
  responses: {
    200: v.object({
      items: v.array(DatasetItem),
      version: described(v.string(), 'The version of the dataset that the items come from'),
      removed: described(
        v.number(),
        "How many of the version's items no longer exist because their traces were deleted",
      ),
      nextCursor: NextCursor,
    }),
  },
  example: {
    params: { datasetId: DATASET_ID },
    query: { split: 'test' },
    answers: { 200: { items: [item], version: DATASET_VERSION, removed: 0, nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { params, query, store } = context
  const dataset = await requireDataset(context, params.datasetId)
  const parts = await partsAt(dataset, query.version)
  const { items, nextCursor } = await pageOf({
    list: ['dataset-items', store.organization.id, dataset.id],
    query,
    place: ['string', 'number', 'string'],
    read: async (limit, after) => {
      const range = { parts, after, limit, step: limit }
      const page = await walkMatching(store, dataset, range, heads => heads.filter(head => matches(head, query)))
      return readPage(store, dataset, page, query.payloads)
    },
  })
  const removed = query.version === undefined ? dataset.removed : await countRemoved(store, dataset, parts)
  return { status: 200, body: { items: items.map(toItem), version: await writeVersion(parts), removed, nextCursor } }
})

interface ItemFilters {
  split?: string | undefined
  decision?: string | undefined
  errorType?: string | undefined
  excluded?: boolean | undefined
}

const matches = (head: ItemHead, { split, decision, errorType, excluded }: ItemFilters): boolean =>
  (split === undefined || head.split === split) &&
  (decision === undefined || head.decision === decision) &&
  (errorType === undefined || head.errorType === errorType) &&
  (excluded === undefined || head.isExcluded === excluded)

const TOO_LARGE = 'Example too large'

const State = record(text(1, MAX_NAME_LENGTH), jsonPayload(TOO_LARGE))

/** An example to import, with its values as JSON. */
interface NewExample {
  id?: string | undefined
  input: string
  expected: string
  state?: Record<string, string> | undefined
  metadata: JsonObject
}

// TypeScript can't expand the schema's own type.
const Example: v.GenericSchema<unknown, NewExample> = object(
  v.strictObject({
    id: described(
      v.optional(Uuid),
      "An ID that you choose. Sending the example again doesn't add a second one. Default: a random ID.",
    ),
    input: jsonPayload(TOO_LARGE),
    expected: jsonPayload(TOO_LARGE),
    state: v.optional(State),
    metadata: v.optional(objectOfBytes(MAX_METADATA_BYTES), {}),
  }),
)

export const getDatasetItem = endpoint({
  family: 'dataset',
  method: 'GET',
  path: '/api/datasets/{datasetId}/items/{itemId}',
  summary: 'Get an item of a dataset',
  description: "Returns all of the item's values in full, no matter how large they are.",
  scope: 'read',
  params: v.object({ datasetId: Uuid, itemId: Uuid }),
  query: v.strictObject({ version: v.optional(Version) }),
  responses: { 200: DatasetItem },
  example: {
    params: { datasetId: DATASET_ID, itemId: SPAN_ID },
    answers: { 200: item },
  },
}).handle(async context => {
  const { params, query, store } = context
  const dataset = await requireDataset(context, params.datasetId)
  const head = (await findHeads(store, dataset, await partsAt(dataset, query.version), [params.itemId])).get(
    params.itemId,
  )
  const [found] = head ? (await readItems(store, dataset, [head], 'full')).items : []
  if (!found) throw notFound()
  return { status: 200, body: toItem(found) }
})

export const importItems = endpoint({
  family: 'dataset',
  method: 'POST',
  path: '/api/datasets/{datasetId}/items',
  summary: 'Import examples into a dataset',
  description: `Use this for steps without reviews. Each example gets its own result: 201 if it's new, 200 if it was sent before, or 409 if another item has its ID. A dataset can have up to ${MAX_IMPORTED_ITEMS} imported examples. Only people can make this call.`,
  scope: 'review',
  params: v.object({ datasetId: Uuid }),
  body: v.strictObject({
    items: v.pipe(
      shownAs(v.array(v.unknown()), v.array(Example)),
      v.maxLength(MAX_IMPORT, `must have at most ${MAX_IMPORT} items`),
    ),
  }),
  maxBytes: MAX_BATCH_BYTES,
  responses: { 207: v.object({ results: v.array(BatchResult) }) },
  example: {
    params: { datasetId: DATASET_ID },
    body: { items: [{ id: SPAN_ID, input: QUESTION, expected: CORRECTION, metadata: METADATA }] },
    answers: { 207: { results: [{ status: 201, body: { id: SPAN_ID } }] } },
  },
}).handle(async context => {
  const { params, body, caller, store, act, requestId } = context
  requirePerson(caller)
  const dataset = await requireDataset(context, params.datasetId)
  const results = new Results(requestId)
  const ids = new Set<string>()
  const drafts = body.items.flatMap((input, index) =>
    results.take(index, `items.${index}`, () => {
      const { id = newId(), input: value, expected, state = {}, metadata } = parse(Example, input)
      if (ids.has(id)) throw badRequest('appears in an earlier item in this call', 'id')
      ids.add(id)
      return { index, example: { id, input: value, expected, state, metadata: JSON.stringify(metadata) } }
    }),
  )
  const outcomes = await importExamples(
    store,
    act,
    dataset,
    drafts.map(({ example }) => example),
  )
  for (const [place, { index, example }] of drafts.entries()) {
    results.settle(index, `items.${index}`, () => {
      const outcome = outcomes[place]
      if (outcome === 'conflict') throw conflict('Another item has this ID', 'id')
      if (outcome === 'too_many') {
        throw unprocessable(`A dataset may have at most ${MAX_IMPORTED_ITEMS} imported examples`, 'id')
      }
      return { status: outcome === 'created' ? 201 : 200, body: { id: example.id } }
    })
  }
  return { status: 207, body: { results: results.inOrder() } }
})

export const changeDatasetItem = endpoint({
  family: 'dataset',
  method: 'PATCH',
  path: '/api/datasets/{datasetId}/items/{itemId}',
  summary: 'Exclude an item, move it to another split, or add a note to it',
  description: 'Later reviews of the span keep what you set here. Only people can make this call.',
  scope: 'manage',
  params: v.object({ datasetId: Uuid, itemId: Uuid }),
  body: v.strictObject({
    excluded: described(v.optional(v.boolean()), 'Whether experiments leave the item out'),
    split: v.optional(Split),
    note: v.optional(text(0, MAX_NOTE_LENGTH)),
  }),
  responses: { 200: DatasetItem },
  example: {
    params: { datasetId: DATASET_ID, itemId: SPAN_ID },
    body: { excluded: true, note: 'The customer was testing us.' },
    answers: { 200: { ...item, excluded: true, note: 'The customer was testing us.' } },
  },
}).handle(async context => {
  const { params, body, caller, store, act } = context
  requirePerson(caller)
  const dataset = await requireDataset(context, params.datasetId)
  const changed = await changeItem(store, act, dataset, params.itemId, body)
  if (changed === 'item_missing') throw notFound()
  if (typeof changed === 'string') throw unavailable(1, new Error('other requests kept changing the dataset item'))
  const [found] = (await readItems(store, dataset, [changed], 'full')).items
  if (!found) throw notFound()
  return { status: 200, body: toItem(found) }
})
