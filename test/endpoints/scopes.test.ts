import { beforeAll, describe, it } from 'vitest'
import { endpoints } from '../../src/app.ts'
import { SCOPES, type Scope } from '../../src/domain/api-key.ts'
import { client, messageOf, newOrg } from '../support/org.ts'
import { methodOf, newWorld, sampleOf, type World } from '../support/samples.ts'

const contracts = endpoints
  .map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)
  .filter(([, { scope }]) => scope !== 'public' && scope !== 'admin')

/** Every set of scopes that a key can have. A key always has at least one. */
const sets = Array.from({ length: 2 ** SCOPES.length - 1 }, (_, index) =>
  SCOPES.filter((_, bit) => ((index + 1) >> bit) % 2 === 1),
)

let world: World
let keys: { scopes: Scope[]; secret: string }[]
beforeAll(async () => {
  const org = await newOrg()
  world = await newWorld(org)
  keys = await Promise.all(
    sets.map(async scopes => ({
      scopes,
      secret: await org.keyFor({ scopes, projectSlug: undefined, userId: org.userId }),
    })),
  )
})

describe.for(contracts)('%s', ([, contract]) => {
  const accepted: readonly string[] = typeof contract.scope === 'string' ? [contract.scope] : contract.scope

  it('is forbidden only to keys that have none of its scopes', async ({ expect }) => {
    const sample = sampleOf(contract)
    expect(keys).toHaveLength(15)
    for (const { scopes, secret } of keys) {
      const caller = client({ 'x-api-key': secret, 'x-project-slug': 'support' })
      const response = await caller[methodOf(contract)](sample.path(world), sample.body?.(world, scopes))
      const { status } = response
      if (scopes.some(scope => accepted.includes(scope))) {
        // An earlier key may have deleted the resource already.
        expect([200, 201, 202, 207, 404, 409], scopes.join(' ')).toContain(status)
      } else {
        expect({ status, error: messageOf(response) }, scopes.join(' ')).toEqual({ status: 403, error: 'Forbidden' })
      }
    }
  })
})
