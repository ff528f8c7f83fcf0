import { isSharded } from '../support/database.ts'
import type { Client } from '../support/org.ts'
import { leavesSent, ownSpanId, type Probe, SPANS, type Step, TRACES } from './commands.ts'
import {
  detailOf,
  type Fields,
  hitsOf,
  type Ids,
  isObject,
  type Json,
  listOf,
  observationsOf,
  type Query,
  spanAloneOf,
  type World,
} from './model.ts'

/** Everything that can be read about a project's ingested data. Missing resources are null. */
export interface View {
  details: (Fields | null)[]
  spans: (Fields | null)[]
  observations: (Fields[] | null)[]
  list: Fields[]
  searches: { query: Query; listed: Fields[]; found: Fields[] | null }[]
}

/** Reads the view from the service, with small pages for lists. */
export async function readView(client: Client, ids: Ids, queries: readonly Query[]): Promise<View> {
  const emails = await emailsOf(client)
  const listed = async (query: string) => {
    const traces = await pagesOf(client, `/api/traces?projectSlug=support&limit=2${query}`, 'traces', 'nextCursor')
    return traces ?? []
  }
  const listObservations = (traceId: string) =>
    pagesOf(client, `/api/v1/traces/${traceId}/observations?limit=3`, 'observations', 'next_cursor')
  const details = await eachOf(TRACES, traceId => get(client, `/api/traces/${ids.trace(traceId)}`))
  const spans = await eachOf(spanIds(ids), id => get(client, `/api/spans/${id}`))
  const etags = new Map(spans.map(span => [span?.id, span?.etag]))
  for (const span of details.flatMap(detail => detail?.spans ?? [])) {
    if (etags.has(span.id) && etags.get(span.id) !== span.etag)
      throw new Error(`span ${span.id} has a different etag by itself than in its trace`)
  }
  return {
    details: details.map(detail => detailIn(detail, emails)),
    spans: spans.map(span => span && withoutEtag(span)),
    observations: await eachOf(TRACES, listObservations),
    list: await listed(''),
    searches: await eachOf(queries, async query => ({
      query,
      listed: await listed(`&${parametersOf(query, 'metadata.')}`),
      found: isSearch(query)
        ? (await get(client, `/api/v1/traces/search?limit=100&${parametersOf(query, '')}`)).traces
        : null,
    })),
  }
}

/** The view according to the model. */
export const expectedView = (world: World, ids: Ids, queries: readonly Query[]): View => ({
  details: TRACES.map(traceId => detailOf(world, traceId, ids) ?? null),
  spans: spanIds(ids).map(id => spanAloneOf(world, id, ids) ?? null),
  observations: TRACES.map(traceId => observationsOf(world, traceId, ids) ?? null),
  list: listOf(world, { fields: [] }, ids),
  searches: queries.map(query => ({
    query,
    listed: listOf(world, query, ids),
    found: isSearch(query) ? hitsOf(world, query, ids) : null,
  })),
})

export const spanIds = (ids: Ids): string[] => [
  ...(isSharded ? TRACES.flatMap((_, place) => SPANS.map(id => ownSpanId(place, id))) : SPANS),
  ...TRACES.map(ids.root),
]

/** The searches for the data that probes select. */
export function queriesOf(probes: readonly Probe[], steps: readonly Step[]): Query[] {
  const sent = leavesSent(steps.map(({ action }) => action))
  return probes.map(({ leaves, name, status }) => {
    const chosen = leaves.flatMap(place => sent[place % Math.max(sent.length, 1)] ?? [])
    const fields = [...new Map(chosen.map(leaf => [leaf.path, leaf])).values()]
    return { fields, ...(name !== undefined && { name }), ...(status && { status }) }
  })
}

export const parametersOf = ({ name, status, fields }: Query, prefix: string): URLSearchParams =>
  new URLSearchParams([
    ...(name === undefined ? [] : [['name', name]]),
    ...(status === undefined ? [] : [['status', status]]),
    ...fields.map(({ path, value }) => [prefix + path, value]),
  ])

/** Whether the ingestion API accepts the search. It reserves some names and requires at least one parameter. */
export const isSearch = ({ name, status, fields }: Query): boolean =>
  fields.every(({ path }) => !['name', 'status', 'limit'].includes(path)) &&
  (name !== undefined || status !== undefined || fields.length > 0)

async function get(client: Client, path: string) {
  const { status, body } = await client.get(path)
  if (status !== 200 && status !== 404) throw new Error(`GET ${path} returned ${status}: ${JSON.stringify(body)}`)
  return status === 200 ? withoutReceipt(body) : null
}

/** Removes the times of receipt, which the model can't predict. */
export const withoutReceipt = <Body>(body: Body): Body =>
  JSON.parse(JSON.stringify(body), (field, value) => (/^received_?[Aa]t$/.test(field) ? undefined : value))

/**
 * Reads the items of all pages of a list. `list` and `next` are the names of the fields with the items and the cursor.
 */
async function pagesOf(client: Client, path: string, list: string, next: string): Promise<Fields[] | null> {
  const items: Fields[] = []
  for (let cursor = ''; ; ) {
    const page = await get(client, path + cursor)
    if (page === null) return null
    items.push(...page[list])
    if (page[next] === null) return items
    cursor = `&cursor=${page[next]}`
  }
}

/** Reads items one at a time, because nothing else may run while a view is read. */
async function eachOf<Item, Result>(items: readonly Item[], read: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await read(item))
  return results
}

/** Users' emails by id, because the model can't predict user ids. */
export async function emailsOf(client: Client): Promise<ReadonlyMap<string, string>> {
  const { users } = await get(client, '/api/users')
  return new Map(users.map(({ id, email }: Record<'id' | 'email', string>) => [id, email]))
}

/** A response that shows a trace, in the model's format. */
export function detailIn(read: Detail | null, emails: ReadonlyMap<string, string>): Fields | null {
  if (!read) return null
  const { nextSpanCursor, nextFeedbackCursor, spans, feedback, ...detail } = withoutReceipt(read)
  return {
    ...detail,
    spans: spans.map(withoutEtag),
    feedback: feedback.map(each => ({ ...each, userId: emails.get(each.userId) ?? each.userId })),
  }
}

export type Detail = Fields & { spans: Fields[]; feedback: (Fields & { userId: string })[] }

export const withoutEtag = ({ etag, ...span }: Fields): Fields => span

/** A view as text for comparison, with the fields of objects sorted by name. */
export const textOf = (view: object): string => JSON.stringify(view, (_, value) => sorted(value), 1)

const sorted = (value: Json): Json =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))) : value

export function mustEqual(what: string, actual: object, expected: object): void {
  const [is, shouldBe] = [textOf(actual), textOf(expected)]
  if (is !== shouldBe) throw new Error(`${what} is\n${brief(is)}\nand should be\n${brief(shouldBe)}`)
}

/** Replaces each long run of one character with its length. */
export const brief = (text: string): string =>
  text.replace(/(.)\1{99,}/gu, (run, character) => `<${character}*${[...run].length}>`)

/** The actual view, in which each `updatedAt` that is within the model's bounds is replaced by the model's notation. */
export function settled(read: View, expected: View): View {
  const settle = <Item extends Fields | null>(items: Item[], models: (Fields | null)[]) =>
    items.map((item, index) => settledItem(item, models[index] ?? null))
  return {
    ...read,
    details: settle(read.details, expected.details),
    list: settle(read.list, expected.list),
    searches: read.searches.map((search, index) => ({
      ...search,
      listed: settle(search.listed, expected.searches[index]?.listed ?? []),
    })),
  }
}

export const settledItem = <Item extends Fields | null>(item: Item, model: Fields | null): Item =>
  item && { ...item, updatedAt: settledTime(item.updatedAt, model?.updatedAt) }

function settledTime(time: Json | undefined, bounds: Json | undefined): Json {
  const [from = '', to = ''] = String(bounds).split(' to ')
  return String(time) >= from && String(time) <= to ? `${from} to ${to}` : String(time)
}
