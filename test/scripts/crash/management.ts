import * as v from 'valibot'
import type { EventLedger } from './events.ts'
import { random, type Subject, type Tenant, Tracked } from './subject.ts'

const FIRST = 'first'
const NewPrompt = v.object({ id: v.string(), versionId: v.string() })
const PromptDetail = v.object({ versions: v.array(v.object({ content: v.string(), isActive: v.boolean() })) })
const NewKey = v.object({ id: v.string(), key: v.string() })

/** Creates a function that writes prompt versions and API keys, and returns the number of acknowledged calls. */
export async function managementWriter(
  { client }: Tenant,
  ledger: Subject[],
  events: EventLedger,
): Promise<() => Promise<number>> {
  const draft = { projectSlug: 'crash', stepId: random.hex(16), content: FIRST }
  const { id, versionId } = v.parse(NewPrompt, await client.make('POST', '/api/prompts', draft))
  events.expect('prompt.activated', id)
  const path = `/api/prompts/${id}`

  /** The contents of all versions, oldest first, and of the active versions. Exactly one must always be active. */
  const read = async () => {
    const { versions } = v.parse(PromptDetail, await client.read(path))
    const active = versions.filter(({ isActive }) => isActive)
    return { contents: versions.map(({ content }) => content), active: active.map(({ content }) => content) }
  }

  const prompt = new Tracked(
    { contents: [FIRST], active: [FIRST] },
    read,
    state => state,
    (before, after) => {
      if (before.active[0] !== after.active[0]) events.expect('prompt.activated', id)
    },
  )
  ledger.push(prompt)

  const addVersion = () => {
    const version = { content: random.hex(16), activate: random.chance(50) }
    const { contents, active } = prompt.state
    const after = { contents: [...contents, version.content], active: version.activate ? [version.content] : active }
    const add = () => client.make('POST', `${path}/versions`, version)
    // Versions have no client-chosen id, so check whether the version exists before sending the call again.
    return prompt.write(after, add, async () => (await read()).contents.includes(version.content) || add())
  }

  const activateFirst = () =>
    prompt.write({ ...prompt.state, active: [FIRST] }, () =>
      client.make('PUT', `${path}/active-version`, { versionId }),
    )

  const issueKey = async () => {
    const draft = { name: 'Crash', projectSlug: 'crash', scopes: ['read'] }
    const { id, key } = v.parse(NewKey, await client.make('POST', '/api/api-keys', draft))
    const status = async () => {
      // The service caches keys for a while, so don't use a key whose revocation is still pending.
      if (apiKey.views().length > 1) return apiKey.state
      return (await client.withKey(key).call('GET', '/api/prompts?projectSlug=crash')).status
    }
    const apiKey = new Tracked(200, status, state => state)
    ledger.push(apiKey)
    if (random.chance(50)) await apiKey.write(401, () => client.make('DELETE', `/api/api-keys/${id}`))
  }

  return async () => {
    await random.pick([addVersion, activateFirst, issueKey])()
    return 1
  }
}
