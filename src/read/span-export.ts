import * as v from 'valibot'
import { fileEndpoint } from '../api/endpoint.ts'
import { writtenCell } from '../api/file-formats.ts'
import type { Planned } from '../api/file-plan.ts'
import { PROJECT_ID } from '../api/story.ts'
import { jsonCell, numberCell, textCell } from '../domain/csv.ts'
import { JsonText } from '../domain/json.ts'
import { cursorOf, placeOf } from '../http/cursor.ts'
import { FILE_STEP_SPANS } from '../limits.ts'
import { type InShard, readAllShards, readPlaced } from '../store/core/across.ts'
import type { Store } from '../store/core/store.ts'
import { findDecisions, type ListedDecision, showDecisions } from '../store/reviews/decided-spans.ts'
import { findDecisionHits, findSpanHits } from '../store/search/spans.ts'
import type { TextMatch } from '../store/search/texts.ts'
import type { LocatedSpan } from '../store/spans/located-spans.ts'
import { findPlacesAcross, showPlaces } from '../store/spans/span-list.ts'
import { measureSpans, type SpanKeys } from '../store/spans/span-sizes.ts'
import type { ListedPlace } from '../store/spans/spans-in-traces.ts'
import { reviewedSpan } from './examples.ts'
import {
  type Columns,
  csvExample,
  EXPORT_DESCRIPTION,
  exportFile,
  exportParameters,
  jsonLinesExample,
} from './export.ts'
import { projectSelector, selectedProject } from './project.ts'
import {
  DECISION_PLACE,
  fromDecisionPlace,
  fromSpanPlace,
  SPAN_PLACE,
  spanListFilter,
  spanListFilters,
  toDecisionPlace,
  toSpanPlace,
} from './spans.ts'
import { SEARCH_DESCRIPTION } from './text-search.ts'
import { type SpanOfTrace, toSpanOfTrace } from './wire.ts'

const COLUMNS: Columns<v.InferOutput<typeof SpanOfTrace>> = [
  ['id', ({ id }) => id],
  ['traceId', ({ trace }) => trace.traceId],
  ['traceName', ({ trace }) => textCell(trace.name)],
  ['stepId', ({ stepId }) => textCell(stepId)],
  ['status', ({ status }) => status ?? ''],
  ['createdAt', ({ createdAt }) => createdAt],
  ['durationMs', ({ durationMs }) => numberCell(durationMs)],
  ['model', ({ model }) => textCell(model ?? '')],
  ['provider', ({ provider }) => textCell(provider ?? '')],
  ['inputTokens', ({ usage }) => numberCell(usage?.inputTokens)],
  ['outputTokens', ({ usage }) => numberCell(usage?.outputTokens)],
  ['costUsd', ({ costUsd }) => numberCell(costUsd)],
  ['promptVersionId', ({ promptVersionId }) => promptVersionId ?? ''],
  ['input', ({ input }) => jsonCell(input.text)],
  ['output', ({ output }) => jsonCell(output.text)],
  ['approvedOutput', ({ approvedOutput }) => jsonCell(approvedOutput.text)],
  ['state', ({ state }) => writtenCell(state)],
  ['review', ({ review }) => review.state],
  ['stale', ({ review }) => String(review.stale)],
  ['reviewedBy', ({ review }) => review.by ?? ''],
  ['reviewedAt', ({ review }) => review.at ?? ''],
  ['comment', ({ review }) => textCell(review.comment ?? '')],
  ['errorType', ({ review }) => textCell(review.errorType ?? '')],
  ['metadata', ({ metadata }) => jsonCell(metadata.text)],
  ['truncated', ({ truncated }) => writtenCell(truncated)],
  ['matches', ({ matches = [] }) => writtenCell(matches)],
]

const EXAMPLE = jsonLinesExample(reviewedSpan)

const exampleSpan = (): v.InferOutput<typeof SpanOfTrace> => ({
  ...reviewedSpan,
  assignees: [],
  suggestions: [],
  votes: [],
  isDisputed: false,
  truncated: [],
  matches: [],
  input: jsonOf(reviewedSpan.input),
  output: jsonOf(reviewedSpan.output),
  approvedOutput: jsonOf(reviewedSpan.approvedOutput),
  state: {},
  metadata: jsonOf(reviewedSpan.metadata),
})

const jsonOf = (value: unknown) => new JsonText(JSON.stringify(value))

export const exportSpans = fileEndpoint({
  family: 'read',
  method: 'GET',
  path: '/api/spans/export',
  summary: "Export a project's spans as a file",
  description: `Exports the spans that \`GET /api/spans\` lists, with the same filters and order, and with full values. ${EXPORT_DESCRIPTION} ${SEARCH_DESCRIPTION}`,
  scope: 'read',
  reads: 'primary',
  query: v.strictObject({ ...projectSelector, ...spanListFilters, ...exportParameters }),
  errors: { 404: 'Not found' },
  responses: { 200: v.string() },
  files: { 'application/jsonl': EXAMPLE, 'text/csv': csvExample(COLUMNS, exampleSpan()) },
  example: {
    query: { projectId: PROJECT_ID, decision: 'correct', format: 'jsonl' },
    answers: { 200: EXAMPLE },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { filter, isByDecision, contained } = await spanListFilter(context, project, query)
  const list = ['spans-export', store.organization.id, project.id, String(isByDecision)]
  const common = { name: 'spans', columns: COLUMNS }
  if (isByDecision) {
    const place = await placeOf(list, DECISION_PLACE, query.cursor, 'cursor')
    return exportFile(context, project, {
      ...common,
      after: place && toDecisionPlace(place),
      findNext: async (after, limit) => {
        const { items, nextPlace } = contained
          ? await findDecisionHits(store, project, filter, contained, { limit, after }, readAllShards)
          : await findDecisions(store, project, filter, { limit, after, isCounted: false }, readAllShards)
        return { items: await planSpans<ListedDecision>(store, items), nextPlace }
      },
      read: async (store, part) =>
        toItems(
          await showDecisions<MatchedPlace<ListedDecision>>(store, project, placesOf(part), 'full', readAllShards),
        ),
      cursorOf: place => cursorOf(list, place && fromDecisionPlace(place)),
    })
  }
  const place = await placeOf(list, SPAN_PLACE, query.cursor, 'cursor')
  return exportFile(context, project, {
    ...common,
    stepItems: FILE_STEP_SPANS,
    after: place && toSpanPlace(place),
    findNext: async (after, limit) => {
      if (contained) {
        const page = { limit, after }
        const { items, nextPlace } = await findSpanHits(store, project, filter, contained, page, readAllShards)
        return { items: await planSpans<ListedPlace>(store, items), nextPlace }
      }
      const { places, nextPlace } = await findPlacesAcross(store, project, filter, { limit, after }, readAllShards)
      return { items: await planSpans<ListedPlace>(store, places), nextPlace }
    },
    read: async (store, part) =>
      toItems(await showPlaces<MatchedPlace<ListedPlace>>(store, placesOf(part), 'full', readAllShards)),
    cursorOf: place => cursorOf(list, place && fromSpanPlace(place)),
  })
})

/** A span's place in the list, with its matches if the list is searched by text. */
type MatchedPlace<Place> = InShard<Place> & { matches?: readonly TextMatch[] }

async function planSpans<Place extends SpanKeys>(
  store: Store,
  places: readonly MatchedPlace<Place>[],
): Promise<Planned<MatchedPlace<Place>>[]> {
  const measured = await readPlaced(
    store,
    places,
    async (shard, own) => {
      const sizes = await measureSpans(shard, own)
      return own.flatMap((place, index) => {
        const size = sizes[index]
        return size ? [[place, size] as const] : []
      })
    },
    readAllShards,
  )
  const sizeOf = new Map(measured.flat())
  return places.flatMap(place => {
    const size = sizeOf.get(place)
    return size ? [{ place, size }] : []
  })
}

const placesOf = <Place>(part: readonly Planned<Place>[]): Place[] => part.map(({ place }) => place)

const toItems = ({
  shown,
  count,
}: {
  shown: readonly { item: MatchedPlace<object>; shown: LocatedSpan }[]
  count: number
}) => ({
  items: shown.map(({ item: { matches }, shown: span }) => toSpanOfTrace({ ...span, ...(matches && { matches }) })),
  count,
})
