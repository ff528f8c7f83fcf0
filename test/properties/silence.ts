import { databases } from '../support/database.ts'
import type { ApiResponse } from '../support/org.ts'
import { TRACES } from './commands.ts'
import { type Fault, withFault } from './faults.ts'
import { detailOf, type Fields, hitsOf, listOf, type Query, spanAloneOf, type World } from './model.ts'
import type { Tenant } from './service.ts'
import {
  detailIn,
  emailsOf,
  isSearch,
  mustEqual,
  parametersOf,
  settledItem,
  spanIds,
  withoutEtag,
  withoutReceipt,
} from './view.ts'

/** The database that has each of the tenant's live traces, by `trace_id`. */
export async function placesOf({ projectId, ids }: Tenant): Promise<Map<string, number>> {
  const places = new Map<string, number>()
  for (const [number, database] of databases.entries()) {
    // If there are several databases, the table in DB is empty.
    if (number === 0 && databases.length > 1) continue
    const { results } = await database
      .prepare(
        `select id from traces where deleted_at is null and project_key = (select key from projects where id = ?)`,
      )
      .bind(projectId)
      .all<{ id: string }>()
    for (const { id } of results) {
      const traceId = TRACES.find(each => ids.trace(each) === id) ?? id
      if (places.has(traceId)) throw new Error(`${traceId} is in several databases`)
      places.set(traceId, number)
    }
  }
  return places
}

/**
 * Asserts what reads return while a database doesn't respond: lists contain the traces from the other databases and
 * name the missing database, traces in the other databases are unchanged, and reads of traces in the missing database
 * return a 503.
 */
export async function mustMissOnly(
  tenant: Tenant,
  world: World,
  fault: Fault,
  queries: readonly Query[],
): Promise<void> {
  const { ids } = tenant
  const places = await placesOf(tenant)
  const emails = await emailsOf(tenant.client)
  const visible = world.filter(({ traceId }) => places.get(traceId) !== fault.database)
  const get = async (path: string): Promise<ApiResponse> => {
    const response = await withFault(fault, bindings => tenant.on(bindings).get(path))
    return response.status === 200 ? { ...response, body: withoutReceipt(response.body) } : response
  }
  const mustName = (path: string, { status, headers }: ApiResponse): void =>
    mustEqual(path, [status, headers.get('x-missing-shards')], [200, String(fault.database)])
  const pagesOf = async (path: string): Promise<Fields[]> => {
    const items: Fields[] = []
    for (let cursor = ''; ; ) {
      const page = await get(path + cursor)
      mustName(path + cursor, page)
      items.push(...page.body.traces)
      if (page.body.nextCursor === null) return items
      cursor = `&cursor=${page.body.nextCursor}`
    }
  }
  for (const query of [{ fields: [] }, ...queries]) {
    const expected = listOf(visible, query, ids)
    const listed = await pagesOf(`/api/traces?projectSlug=support&limit=1&${parametersOf(query, 'metadata.')}`)
    mustEqual(
      'the list',
      listed.map((item, index) => settledItem(item, expected[index] ?? null)),
      expected,
    )
    if (!isSearch(query)) continue
    const path = `/api/v1/traces/search?limit=100&${parametersOf(query, '')}`
    const found = await get(path)
    mustName(path, found)
    mustEqual('the search', found.body.traces, hitsOf(visible, query, ids))
  }
  /** Asserts what the path of a trace or span returns. `shown` is undefined if no database that responds has it. */
  const mustShow = async (
    path: string,
    { shown, isHidden }: { shown: Fields | undefined; isHidden: boolean },
    read: (body: ApiResponse['body']) => Fields | null,
  ) => {
    const { status, body } = await get(path)
    const allowed = shown ? [200] : isHidden ? [503] : [404, 503]
    if (!allowed.includes(status))
      throw new Error(`${path} returned ${status}, but should have returned ${allowed.join(' or ')}`)
    if (shown) mustEqual(path, read(body) ?? {}, shown)
  }
  for (const traceId of TRACES) {
    const shown = detailOf(visible, traceId, ids)
    const isHidden = places.get(traceId) === fault.database
    await mustShow(`/api/traces/${ids.trace(traceId)}`, { shown, isHidden }, body =>
      settledItem(detailIn(body, emails), shown ?? null),
    )
  }
  for (const id of spanIds(ids)) {
    const shown = spanAloneOf(visible, id, ids)
    const isHidden = !shown && spanAloneOf(world, id, ids) !== undefined
    await mustShow(`/api/spans/${id}`, { shown, isHidden }, withoutEtag)
  }
}
