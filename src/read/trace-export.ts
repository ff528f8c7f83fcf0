import * as v from 'valibot'
import { fileEndpoint } from '../api/endpoint.ts'
import { writtenCell } from '../api/file-formats.ts'
import { METADATA, PROJECT_ID } from '../api/story.ts'
import { jsonCell, numberCell, textCell } from '../domain/csv.ts'
import { JsonText } from '../domain/json.ts'
import { cursorOf, placeOf } from '../http/cursor.ts'
import { inShard, mergePages, readAllShards } from '../store/core/across.ts'
import type { TextMatch } from '../store/search/texts.ts'
import { type SearchPlace, searchTraces } from '../store/search/traces.ts'
import { newestFirst, type TracePosition } from '../store/traces/trace-filter.ts'
import { findListedPlaced, findSearched } from '../store/traces/trace-list.ts'
import { listedTrace } from './examples.ts'
import {
  type Columns,
  csvExample,
  EXPORT_DESCRIPTION,
  exportFile,
  exportParameters,
  jsonLinesExample,
} from './export.ts'
import { projectSelector, selectedProject } from './project.ts'
import { SEARCH_DESCRIPTION } from './text-search.ts'
import { traceListFilter, traceListFilters } from './trace-filters.ts'
import { type ListedTrace, toListedTrace } from './wire.ts'

const COLUMNS: Columns<v.InferOutput<typeof ListedTrace>> = [
  ['id', ({ id }) => id],
  ['traceId', ({ traceId }) => traceId],
  ['name', ({ name }) => textCell(name)],
  ['status', ({ status }) => status],
  ['createdAt', ({ createdAt }) => createdAt],
  ['durationMs', ({ durationMs }) => numberCell(durationMs)],
  ['inputPreview', ({ inputPreview }) => textCell(inputPreview ?? '')],
  ['outputPreview', ({ outputPreview }) => textCell(outputPreview ?? '')],
  ['reviewState', ({ reviewState }) => reviewState],
  ['errorType', ({ errorType }) => textCell(errorType ?? '')],
  ['errorTypeBy', ({ errorTypeBy }) => errorTypeBy ?? ''],
  ['model', ({ model }) => textCell(model ?? '')],
  ['inputTokens', ({ usage }) => numberCell(usage?.inputTokens)],
  ['outputTokens', ({ usage }) => numberCell(usage?.outputTokens)],
  ['costUsd', ({ costUsd }) => numberCell(costUsd === null ? null : roundedSum(costUsd))],
  ['spanCount', ({ spanCount }) => numberCell(spanCount)],
  ['reviewedCount', ({ reviewedCount }) => numberCell(reviewedCount)],
  ['staleCount', ({ staleCount }) => numberCell(staleCount)],
  ['feedbackCount', ({ feedbackCount }) => numberCell(feedbackCount)],
  ['updatedAt', ({ updatedAt }) => updatedAt],
  ['receivedAt', ({ receivedAt }) => receivedAt],
  ['metadata', ({ metadata }) => jsonCell(metadata.text)],
]

/** The columns of an export that is searched by text. */
const SEARCH_COLUMNS: typeof COLUMNS = [...COLUMNS, ['matches', ({ matches = [] }) => writtenCell(matches)]]

/** Removes the rounding errors of addition from a sum of costs, such as 0.00045299999999999995. */
const roundedSum = (sum: number): number => Number(sum.toPrecision(12))

/** The size of a listed trace in bytes, not counting its metadata. */
const TRACE_BYTES = 2000

const EXAMPLE = jsonLinesExample(listedTrace)

export const exportTraces = fileEndpoint({
  family: 'read',
  method: 'GET',
  path: '/api/traces/export',
  summary: "Export a project's traces as a file, newest first",
  description: `Exports the traces that \`GET /api/traces\` lists, with the same filters. ${EXPORT_DESCRIPTION} ${SEARCH_DESCRIPTION}`,
  scope: 'read',
  reads: 'primary',
  query: v.strictObject({ ...projectSelector, ...traceListFilters, ...exportParameters }),
  metadataPrefix: 'metadata.',
  errors: { 404: 'Not found' },
  responses: { 200: v.string() },
  files: {
    'application/jsonl': EXAMPLE,
    'text/csv': csvExample(COLUMNS, {
      ...listedTrace,
      matches: undefined,
      metadata: new JsonText(JSON.stringify(METADATA)),
    }),
  },
  example: {
    query: { projectId: PROJECT_ID, format: 'jsonl' },
    answers: { 200: EXAMPLE },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { filter, contained } = await traceListFilter(context, project)
  const list = ['traces-export', store.organization.id, project.id]
  const place = await placeOf(list, ['number', 'string', 'string'], query.cursor, 'cursor')
  return exportFile(context, project, {
    name: 'traces',
    after: place && { timestamp: place[0], id: place[1], spanId: place[2] },
    findNext,
    read: async (store, part) => {
      const found = await findListedPlaced(store, project, part, readAllShards)
      const items = part.flatMap(item => {
        const [trace, { matches }] = [found.get(item), item]
        return trace ? [toListedTrace({ ...trace, ...(matches && { matches }) })] : []
      })
      return { items, count: part.length }
    },
    columns: contained ? SEARCH_COLUMNS : COLUMNS,
    cursorOf: place => cursorOf(list, place && [place.timestamp, place.id, place.spanId]),
  })

  async function findNext(after: SearchPlace | undefined, limit: number) {
    if (!contained) {
      const pages = await readAllShards(store, async shard => {
        const page = await findSearched(shard, project, filter, { limit, after })
        return { items: inShard(shard, page.items), nextPlace: page.nextPlace }
      })
      const order = { limit, placeOf: (trace: TracePosition) => trace, compare: newestFirst }
      const { items, nextPlace } = mergePages(pages, order)
      return {
        items: items.map(trace => planned(trace, trace.metadataBytes)),
        nextPlace: nextPlace && placeAfter(nextPlace),
      }
    }
    const { items, nextPlace } = await searchTraces(store, project, filter, contained, { limit, after }, readAllShards)
    return { items: items.map(trace => planned(trace, trace.metadata.text.length, trace.matches)), nextPlace }
  }
})

const placeAfter = ({ timestamp, id }: TracePosition): SearchPlace => ({ timestamp, id, spanId: '' })

const planned = (
  trace: TracePosition & { key: number; shard: number },
  metadataBytes: number,
  matches?: readonly TextMatch[],
) => ({
  key: trace.key,
  shard: trace.shard,
  matches,
  place: placeAfter(trace),
  size: { bytes: TRACE_BYTES + metadataBytes, objects: 0 },
})
