import { beforeAll, expect, it } from 'vitest'
import { itemsIn } from '../support/files.ts'
import {
  enterEpoch,
  newHistory,
  prepareTwoDatabases,
  projectOf,
  type Tenant,
  TWO,
  walk,
  without,
  write,
} from '../support/two-databases.ts'

beforeAll(prepareTwoDatabases)

const accept = async ({ api }: Tenant, spanId: string) => {
  expect((await api.put(`/api/spans/${spanId}/review`, { decision: 'accept' })).status).toBe(200)
}

const datasetOf = async (tenant: Tenant) =>
  (await tenant.api.get(`/api/datasets?${projectOf(tenant)}`)).body.datasets[0]

it('a dataset has each item from all databases once, and a new epoch changes no version', async () => {
  const { tenant, traces } = await newHistory()
  for (const { spanId } of traces) await accept(tenant, spanId)
  const { id, version } = await datasetOf(tenant)
  const path = `/api/datasets/${id}`
  const imported = await tenant.api.post(`${path}/items`, { items: [{ input: 1, expected: 2 }] })
  expect(imported.status).toBe(207)
  const newestFirst = traces.map(({ spanId }) => spanId).toReversed()
  const listed = (items: readonly Record<string, unknown>[]) =>
    items.map(item => String(item.id)).filter(item => newestFirst.includes(item))
  for (const limit of [4, 200]) {
    const items = await walk(tenant.api, `${path}/items?`, 'items', limit)
    expect(items).toHaveLength(traces.length + 1)
    expect(listed(items)).toEqual(newestFirst)
  }
  const first = (await tenant.api.get(`${path}/items?limit=5`)).body
  await enterEpoch(tenant, [TWO])
  await accept(tenant, (await write(tenant)).spanId)
  const rest = (await tenant.api.get(`${path}/items?cursor=${first.nextCursor}`)).body
  expect(listed([...first.items, ...rest.items])).toEqual(newestFirst)
  const file = async (query = '') => itemsIn((await tenant.api.get(`${path}/export?format=jsonl${query}`)).body)
  expect((await file()).length).toBe(traces.length + 2)
  expect((await file(`&version=${version}`)).map(item => item.id).toSorted()).toEqual(newestFirst.toSorted())
  const key = await tenant.org.keyFor({ projectSlug: undefined })
  const silent = tenant.org.clientOf(key, without(TWO))
  expect((await silent.get(`${path}/export?format=jsonl`)).status).toBe(503)
})
