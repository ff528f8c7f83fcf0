import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import * as v from 'valibot'
import { demoTraces } from './demo-traces.ts'

/** Where and with what right to seed. */
export interface SeedTarget {
  url: string
  adminToken: string
  /** The demo's key is kept here, beside the data that it opens. */
  stateDirectory: string
}

/**
 * Makes the demo organization through the public API, once: its key is kept in the state directory when all is posted.
 * Every call can be repeated, so a seeding that was cut off is simply done again. Returns the key.
 */
export async function seedDemo(target: SeedTarget): Promise<string> {
  const file = resolve(target.stateDirectory, 'demo-key')
  if (existsSync(file)) return (await readFile(file, 'utf8')).trim()
  const owner = await ownerKey(target)
  await call(target, owner, '/api/projects', { slug: 'support', name: 'Support answers' })
  const created = await call(target, owner, '/api/api-keys', {
    name: 'Demo',
    projectSlug: 'support',
    scopes: ['ingest', 'read', 'review', 'manage'],
  })
  const { key } = v.parse(WithKey, created)
  for (const { path, body } of demoTraces()) await call(target, key, path, body)
  await mkdir(target.stateDirectory, { recursive: true })
  await writeFile(`${file}.part`, `${key}\n`, { mode: 0o600 })
  await rename(`${file}.part`, file)
  return key
}

async function ownerKey(target: SeedTarget): Promise<string> {
  const created = await call(target, target.adminToken, '/api/orgs', { slug: 'demo', name: 'Demo' })
  if (v.is(Organization, created)) return created.apiKey.key
  return v.parse(WithKey, await call(target, target.adminToken, '/api/orgs/demo/api-keys')).key
}

const WithKey = v.object({ key: v.string() })
const Organization = v.object({ apiKey: WithKey })

/** Posts once and returns the answer. What is there already (409) is as good as created. */
async function call({ url }: SeedTarget, token: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok && response.status !== 409) throw new Error(`POST ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}
