import { env } from 'cloudflare:workers'
import { it, vi } from 'vitest'
import { type Contract, isIngestion } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import { newOrg, type Org } from '../../test/support/org.ts'
import { methodOf, newWorld, sampleOf, successesOf, type World } from '../../test/support/samples.ts'
import { ORIGIN } from '../../test/support/session.ts'
import type { Costs } from '../costs.ts'
import { measuredBindings } from './measured-bindings.ts'

/** All endpoints except the one that works only for users signed in through Cloudflare Access. */
const contracts = endpoints
  .filter(({ contract }) => contract.path !== '/api/session/organizations')
  .map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)

it.for(contracts)('%s', async ([, contract], { task }) => {
  const org = await newOrg()
  const worlds = { cold: await newWorld(org), warm: await newWorld(org) }
  const headers = await headersOf(contract, org)
  // A fresh import has empty caches, like a new isolate.
  vi.resetModules()
  const isolate = await import('../../test/support/org.ts')
  const costOf = async (world: World): Promise<Costs> => {
    const { bindings, costs } = measuredBindings()
    const sample = sampleOf(contract)
    const client = isolate.client(headers, bindings)
    const { status } = await client[methodOf(contract)](sample.path(world), sample.body?.(world))
    if (!successesOf(contract).includes(status)) throw new Error(`returned ${status}`)
    return costs
  }
  task.meta.costs = { cold: await costOf(worlds.cold), warm: await costOf(worlds.warm) }
})

/**
 * The usual credentials: a project key for a pipeline, a user's key for a reviewer, the organization's key for an
 * owner.
 */
async function headersOf(contract: Contract, org: Org): Promise<Record<string, string>> {
  // An endpoint that needs no key, such as signing in, may require that the request come from one of the service's own
  // pages.
  if (contract.scope === 'public') return { origin: ORIGIN }
  if (contract.scope === 'admin') return { authorization: `Bearer ${env.ADMIN_TOKEN}` }
  // Uses a new key, because the rate limiter of a key that's already in use wouldn't survive in the new isolate.
  if (contract.scope === 'review') return { 'x-api-key': await org.keyFor({ userId: org.userId }) }
  return { 'x-api-key': isIngestion(contract) ? await org.keyFor({}) : org.ownerKey }
}
