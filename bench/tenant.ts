import * as v from 'valibot'
import { Client } from './client.ts'
import { ADMIN_TOKEN, migrate, type Server } from './server.ts'

const Organization = v.object({ apiKey: v.object({ key: v.string() }) })
const Key = v.object({ key: v.string() })
const User = v.object({ id: v.string() })

/** The highest limit that a key can have: requests are counted as usual, but none is rejected. */
const RATE_LIMIT = 1_000_000

/**
 * Creates a Worker's tables, and then an organization and the `bench` project. Returns a client with the project's key.
 * Before creating the project's key, calls `prepare` with a client that has the organization's key.
 */
export async function newTenant(
  server: Server,
  worker: string,
  prepare: (manager: Client) => Promise<void> = async () => {},
): Promise<Client> {
  await migrate(await server.databaseOf(worker))
  const url = await server.urlOf(worker)
  const admin = new Client(url, { authorization: `Bearer ${ADMIN_TOKEN}` })
  const organization = await admin.call('POST', '/api/orgs', { slug: 'bench', name: 'Benchmarks' })
  const owner = admin.with({ 'x-api-key': v.parse(Organization, JSON.parse(organization.body)).apiKey.key })
  await owner.call('POST', '/api/projects', { slug: 'bench', name: 'Benchmarks' })
  await prepare(owner)
  const key = await owner.call('POST', '/api/api-keys', {
    name: 'Benchmarks',
    projectSlug: 'bench',
    scopes: ['ingest', 'read', 'review', 'manage'],
    rateLimitPerMinute: RATE_LIMIT,
  })
  return admin.with({ authorization: `Bearer ${v.parse(Key, JSON.parse(key.body)).key}` })
}

export type Person = 'reviewer' | 'colleague' | 'adjudicator'

/** Adds people to the tenant, each with a key. Returns their ids and the request headers that contain their keys. */
export async function addPeople(server: Server, worker: string): Promise<Record<Person, Reviewer>> {
  const admin = new Client(await server.urlOf(worker), { authorization: `Bearer ${ADMIN_TOKEN}` })
  const issued = await admin.call('POST', '/api/orgs/bench/api-keys')
  const owner = admin.with({ 'x-api-key': v.parse(Key, JSON.parse(issued.body)).key })
  const add = async (name: Person): Promise<Reviewer> => {
    const user = await owner.call('POST', '/api/users', { name, email: `${name}@bench.example` })
    const { id } = v.parse(User, JSON.parse(user.body))
    if (name === 'adjudicator') await owner.call('PATCH', `/api/users/${id}`, { adjudicator: true })
    const key = await owner.call('POST', '/api/api-keys', {
      name,
      userId: id,
      scopes: ['read', 'review'],
      rateLimitPerMinute: RATE_LIMIT,
    })
    return { id, headers: { 'x-api-key': v.parse(Key, JSON.parse(key.body)).key } }
  }
  return { reviewer: await add('reviewer'), colleague: await add('colleague'), adjudicator: await add('adjudicator') }
}

export interface Reviewer {
  id: string
  headers: Record<string, string>
}
