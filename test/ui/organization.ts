import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { ADMIN_TOKEN } from '../scripts/server.ts'
import { serverUrl } from './server.ts'

const PROJECT = 'support'

const WithKey = v.object({ key: v.string() })
const WithId = v.object({ id: v.string() })
const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })

/** An event in `POST /api/v1/batch`. */
export interface Event {
  type: 'trace' | 'span' | 'observation' | 'feedback'
  body: object
}

/** A tenant with one project, for a single test file. */
export interface Organization {
  project: { id: string; slug: string }
  /** This key has all scopes, but only in the project. */
  key: string
  /** This key has all scopes in every project. */
  ownerKey: string
  /** Calls the API with a key, by default the project's. Throws if the response is an error. */
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object, key?: string): Promise<unknown>
  /** Creates a resource with a POST to `path`, and returns its ID. */
  make(path: string, body: object): Promise<string>
  /** Posts events. Throws if the API rejects any of them. */
  post(events: readonly Event[]): Promise<void>
  /** A key that acts for a new user, by default one who can't manage anything. */
  reviewer(name: string, scopes?: string[]): Promise<{ id: string; name: string; key: string }>
}

export async function newOrganization(): Promise<Organization> {
  const slug = `o-${randomUUID()}`
  const Created = v.object({ apiKey: WithKey })
  const created = v.parse(Created, await call(ADMIN_TOKEN, 'POST', '/api/orgs', { slug, name: 'Acme' }))
  const ownerKey = created.apiKey.key
  const make = async (path: string, body: object) => v.parse(WithId, await call(ownerKey, 'POST', path, body)).id
  const project = { id: await make('/api/projects', { slug: PROJECT, name: 'Support' }), slug: PROJECT }
  const keyWith = async (fields: object) =>
    v.parse(WithKey, await call(ownerKey, 'POST', '/api/api-keys', { projectSlug: PROJECT, ...fields })).key
  const key = await keyWith({ name: 'Pipeline', scopes: ['ingest', 'read', 'review', 'manage'] })
  return {
    project,
    key,
    ownerKey,
    call: (method, path, body, as = key) => call(as, method, path, body),
    make,
    post: async events => {
      for (let from = 0; from < events.length; from += EVENTS_PER_BATCH) {
        await postBatch(key, events.slice(from, from + EVENTS_PER_BATCH))
      }
    },
    reviewer: async (name, scopes = ['read', 'review']) => {
      const email = `${name.toLowerCase()}@example.com`
      const id = await make('/api/users', { email, name })
      return { id, name, key: await keyWith({ name, userId: id, scopes }) }
    },
  }
}

const EVENTS_PER_BATCH = 1_000

async function call(key: string, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(serverUrl() + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`)
  return JSON.parse(text)
}

async function postBatch(key: string, events: readonly Event[]): Promise<void> {
  const { results } = v.parse(Results, await call(key, 'POST', '/api/v1/batch', { events }))
  const refused = results.find(({ status }) => status >= 300)
  if (refused) throw new Error(`an event was rejected: ${JSON.stringify(refused)}`)
}
