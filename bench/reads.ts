import * as v from 'valibot'
import type { Client } from './client.ts'
import { findMiddle } from './items.ts'
import { APART_MS, groupOf, NEWEST, type PromptVersions } from './sample-traces.ts'
import type { Person, Reviewer } from './tenant.ts'

/** A database behind two Workers, and ids for requests to it. */
export interface Place {
  traces: number
  client: Client
  /** Calls the Worker that reports costs. */
  measuredClient: Client
  /** The two clients above, but with each person's key. */
  people: Record<Person, Pick<Place, 'client' | 'measuredClient'>>
  /** A trace in the middle of the list. */
  traceId: string
  spanId: string
  /** The cursor of a page in the middle of the list. */
  cursor: string
  /** The dataset of all answers, and the cursor of a page in the middle of it. */
  datasetId: string
  itemsCursor: string
}

const Page = v.object({ traces: v.tuple([v.object({ id: v.string() })]), nextCursor: v.string() })
const Detail = v.object({ spans: v.array(v.object({ id: v.string() })) })

/** Looks up the ids for requests to a database with this many sample traces. */
export async function findPlace(
  client: Client,
  measuredClient: Client,
  { traces, datasetId, people }: Pick<Place, 'traces' | 'datasetId'> & { people: Record<Person, Reviewer> },
): Promise<Place> {
  const clientsOf = ({ headers }: Reviewer) => ({
    client: client.with(headers),
    measuredClient: measuredClient.with(headers),
  })
  const middle = list(`to=${timeOf(traces / 2)}&limit=1`)
  const page = v.parse(Page, JSON.parse((await client.call('GET', middle)).body))
  const [{ id: traceId }] = page.traces
  const { spans } = v.parse(Detail, JSON.parse((await client.call('GET', `/api/traces/${traceId}`)).body))
  // After this call, the Worker's isolate has the key and the project cached.
  await measuredClient.call('GET', middle)
  const itemsCursor = await findMiddle(client, datasetId, traces)
  return {
    traces,
    client,
    measuredClient,
    people: {
      reviewer: clientsOf(people.reviewer),
      colleague: clientsOf(people.colleague),
      adjudicator: clientsOf(people.adjudicator),
    },
    traceId,
    spanId: spans.at(-1)?.id ?? '',
    cursor: page.nextCursor,
    datasetId,
    itemsCursor,
  }
}

const list = (query: string) => `/api/traces?projectSlug=bench&${query}`
const search = (query: string) => `/api/v1/traces/search?${query}`
const itemsOf = (datasetId: string, query: string) => `/api/datasets/${datasetId}/items?${query}`
/** The start time of the trace at this index in the list, which begins with the newest trace. */
const timeOf = (place: number) => new Date(NEWEST - place * APART_MS).toISOString()

export interface Read {
  what: string
  /** Whether an index finds the results and no other traces. */
  isIndexed: boolean
  /** Whether the request also counts spans, which reads more rows than a page does. */
  isCounting?: boolean
  /** The share of all traces that an index narrows the search to; all if absent. */
  among?: number
  /** Whose key to use; the project's if absent. */
  by?: Person
  path: (place: Place) => string
}

/** The requests to compare. */
export function readsOf({ common, rare }: PromptVersions): Read[] {
  const indexed = (what: string, path: Read['path']) => ({ what, isIndexed: true, path })
  const scanning = (what: string, path: Read['path']) => ({ what, isIndexed: false, path })
  const few = groupOf(7)
  return [
    indexed('list: the first page', () => list('')),
    indexed('list: a page in the middle', ({ cursor }) => list(`cursor=${cursor}`)),
    indexed('list: from, to', ({ traces }) => list(`from=${timeOf(traces / 2 + 25)}&to=${timeOf(traces / 2)}`)),
    indexed('list: metadata (one conversation)', () => list(`metadata.group_id=${few}`)),
    indexed('list: metadata (all traces)', () => list('metadata.environment=production')),
    indexed('list: metadata (one conversation, all traces)', () =>
      list(`metadata.environment=production&metadata.group_id=${few}`),
    ),
    scanning('list: metadata (a quarter, all traces)', () =>
      list('metadata.environment=production&metadata.customer.tier=gold'),
    ),
    scanning('list: status (most traces)', () => list('status=completed')),
    scanning('list: status (1 in 50)', () => list('status=running')),
    indexed('list: name (most traces)', () => list('name=support-answer')),
    scanning('list: name (3 in 1,000)', () => list('name=refund')),
    indexed('list: name (no traces)', () => list('name=none')),
    scanning('list: stepId (all traces)', () => list('stepId=answer')),
    scanning('list: stepId (3 in 1,000)', () => list('stepId=escalate')),
    scanning('list: promptVersionId (most traces)', () => list(`promptVersionId=${common}`)),
    scanning('list: promptVersionId (3 in 1,000)', () => list(`promptVersionId=${rare}`)),
    scanning('list: hasFeedback (1 in 10)', () => list('hasFeedback=true')),
    indexed('list: rating (1 in 20)', () => list('rating=negative')),
    scanning('list: status, rating, and metadata (a quarter)', () =>
      list('status=completed&rating=negative&metadata.customer.tier=gold'),
    ),
    indexed('search: a conversation', () => search(`group_id=${few}`)),
    indexed('search: metadata (all traces)', () => search('environment=production')),
    indexed('search: metadata (one conversation, all traces)', () => search(`environment=production&group_id=${few}`)),
    scanning('search: metadata (a quarter, all traces)', () => search('environment=production&customer.tier=gold')),
    indexed('search: name (most traces)', () => search('name=support-answer')),
    scanning('search: name (3 in 1,000)', () => search('name=refund')),
    indexed('search: name (no traces)', () => search('name=none')),
    indexed('search: status (1 in 50)', () => search('status=running')),
    {
      ...scanning('search: name and status (3 in 50,000)', () => search('name=refund&status=running')),
      among: 1 / 50,
    },
    scanning('search: name (no traces) and metadata (all traces)', () => search('name=none&environment=production')),
    indexed('list: review state (all traces)', () => list('review=unreviewed')),
    ...QUEUE_ORDERS.map(order => queue(`queue: ${order}`, order)),
    indexed('dataset: the first page of items', ({ datasetId }) => itemsOf(datasetId, '')),
    indexed('dataset: a page in the middle', ({ datasetId, itemsCursor }) =>
      itemsOf(datasetId, `cursor=${itemsCursor}`),
    ),
    indexed('detail: a trace', ({ traceId }) => `/api/traces/${traceId}`),
    indexed('detail: a span', ({ spanId }) => `/api/spans/${spanId}`),
  ]
}

const QUEUE_ORDERS = ['oldest', 'newest', 'negative', 'random'] as const

const queue = (what: string, order: string, by?: Person): Read => ({
  what,
  ...(by && { by }),
  isIndexed: false,
  // The request counts up to 10,000 remaining spans.
  isCounting: true,
  path: () => `/api/review-queue?projectSlug=bench&order=${order}`,
})

/** The requests to compare once `sampleQueue` has left out 99 of 100 outputs. */
export const readsOfSample: readonly Read[] = QUEUE_ORDERS.map(order => queue(`queue of a 1% sample: ${order}`, order))

/** The requests to compare once `shareQueue` has assigned spans and people have voted. */
export const readsOfShared: readonly Read[] = [
  ...QUEUE_ORDERS.map(order => queue(`blind queue of a 1% sample: ${order}`, order, 'reviewer')),
  queue('blind queue of a 1% sample: mine', 'mine', 'reviewer'),
  { ...queue('queue: 300 assigned spans', 'due&assignee=me', 'reviewer'), isIndexed: true, isCounting: false },
  { ...queue('queue: 100 disputed spans', 'oldest&disputed=true', 'adjudicator'), isIndexed: true, isCounting: false },
]
