import { env } from 'cloudflare:workers'
import { type SQL, sql } from 'drizzle-orm'
import { describe, it } from 'vitest'
import { samplingRank } from '../../src/domain/review-policy.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { policyOf, samplingRank as sqlRank } from '../../src/store/core/review-policy.ts'
import { openUnscopedStore } from '../../src/store/core/store.ts'
import { stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { ID_KINDS } from '../support/span-ids.ts'

describe('sampling in SQL', () => {
  it.for(Object.entries(ID_KINDS))('ranks %s ids as JavaScript does', async ([, idOf], { expect }) => {
    const ids = Array.from({ length: 2000 }, (_, index) => idOf(index * 104_729))
    const { database } = openUnscopedStore(env, new Deadline(60_000))
    const ranks = await database.all<{ rank: number }>(
      sql`select ${sqlRank(sql`item.value`)} as rank from json_each(${JSON.stringify(ids)}) as item`,
    )
    expect(ranks.map(({ rank }) => rank)).toEqual(ids.map(samplingRank))
  })
})

describe("a step's policy in SQL", () => {
  it('is found by any of the step’s names, and the default applies to other steps', async ({ expect }) => {
    const org = await newOrg()
    const projectKey = await stored.prepare('select key from projects where id = ?').bind(org.project.id).first('key')
    const { database } = openUnscopedStore(env, new Deadline(60_000))
    const policies = (key: number | SQL) => {
      const { sample, reviewers, isBlind } = policyOf(key, sql`item.value`)
      return database.all(sql`
        select item.value as step, ${sample} as sample, ${reviewers} as reviewers, ${isBlind} as isBlind
        from json_each('["old", "new", "other"]') as item`)
    }
    const one = { sample: 1, reviewers: 1, isBlind: 0 }
    const own = { sample: 0.25, reviewers: 3, isBlind: 1 }
    const expected = async (...[old, renamed, other]: (typeof one)[]) => {
      const steps = [
        { step: 'old', ...old },
        { step: 'new', ...renamed },
        { step: 'other', ...other },
      ]
      expect(await policies(Number(projectKey))).toEqual(steps)
      expect(await policies(sql`${projectKey}`)).toEqual(steps)
    }
    await expected(one, one, one)
    const path = `/api/projects/${org.project.id}`
    await org.owner.put(`${path}/review-policy`, { steps: { old: { sample: 0.25, reviewers: 3, blind: true } } })
    await expected(own, one, one)
    await org.owner.put(`${path}/step-names`, { names: { old: 'new' } })
    await expected(own, own, one)
    await org.owner.put(`${path}/review-policy`, {
      default: { reviewers: 2 },
      steps: { new: { sample: 0.25, reviewers: 3, blind: true } },
    })
    await expected(own, own, { ...one, reviewers: 2 })
    expect(await policies(-1)).toMatchObject([one, one, one])
  })
})
