import { describe, it } from 'vitest'
import { MAX_NAME_LENGTH, MAX_POLICY_STEPS, MAX_REVIEWERS } from '../../src/limits.ts'
import { newOrg, type Org } from '../support/org.ts'

const pathOf = ({ project }: Org) => `/api/projects/${project.id}/review-policy`

const ONE_REVIEWER = { sample: 1, reviewers: 1, blind: false }

const policyOf = async (org: Org) => (await org.read.get(pathOf(org))).body

const rename = (org: Org, names: object) => org.owner.put(`/api/projects/${org.project.id}/step-names`, { names })

describe('the review policy', () => {
  it('replaces the whole earlier policy, and missing fields get the values that apply if there is no policy', async ({
    expect,
  }) => {
    const org = await newOrg()
    expect(await policyOf(org)).toEqual({ default: ONE_REVIEWER, steps: {}, always: [], updatedAt: null })
    const policy = {
      default: { sample: 0.5, reviewers: 2 },
      steps: { answer: { sample: 0.1, blind: true }, 'embed-query': { sample: 0, reviewers: 1 }, constructor: {} },
      always: ['negative', 'low_confidence', 'negative'],
    }
    const saved = await org.owner.put(pathOf(org), policy)
    expect(saved).toMatchObject({
      status: 200,
      body: {
        default: { sample: 0.5, reviewers: 2, blind: false },
        steps: {
          answer: { sample: 0.1, reviewers: 2, blind: true },
          'embed-query': { sample: 0, reviewers: 1, blind: false },
          constructor: { sample: 0.5, reviewers: 2, blind: false },
        },
        always: ['negative', 'low_confidence'],
      },
    })
    expect(Object.keys(saved.body.steps)).toHaveLength(3)
    expect(await policyOf(org)).toEqual(saved.body)
    // Saving the same policy again has no effect.
    expect((await org.owner.put(pathOf(org), policy)).body).toEqual(saved.body)
    expect((await org.owner.put(pathOf(org), saved.body)).status).toBe(400)

    const { updatedAt, ...read } = saved.body
    expect((await org.owner.put(pathOf(org), read)).body.updatedAt).toBe(updatedAt)
    expect((await org.owner.put(pathOf(org), { steps: { answer: { sample: 0.1 } } })).body).toMatchObject({
      default: ONE_REVIEWER,
      steps: { answer: { sample: 0.1, reviewers: 1, blind: false } },
      always: [],
    })
    expect((await org.owner.put(pathOf(org), {})).body).toMatchObject({ default: ONE_REVIEWER, steps: {}, always: [] })
    const { entries } = (await org.owner.get('/api/audit-log?action=review_policy.set')).body
    expect(entries).toHaveLength(3)
  })

  it.for([
    [{ default: { sample: -0.1 } }, 'default.sample', 'must be at least 0'],
    [{ default: { sample: 1.1 } }, 'default.sample', 'must be at most 1'],
    [{ default: { sample: '1' } }, 'default.sample', 'must be a number'],
    [{ default: { reviewers: 0 } }, 'default.reviewers', 'must be at least 1'],
    [{ steps: { a: { reviewers: MAX_REVIEWERS + 1 } } }, 'steps.a.reviewers', `must be at most ${MAX_REVIEWERS}`],
    [{ steps: { a: { reviewers: 1.5 } } }, 'steps.a.reviewers', 'must be a whole number'],
    [{ steps: { a: { blind: 1 } } }, 'steps.a.blind', 'must be true or false'],
    [{ steps: { a: { share: 1 } } }, 'steps.a.share', 'is not recognized'],
    [{ steps: { a: [] } }, 'steps.a', 'must be an object'],
    [{ steps: { a: null } }, 'steps.a', 'must be an object'],
    [{ steps: { '': {} } }, 'steps.', `the step's name must have 1 to ${MAX_NAME_LENGTH} characters`],
    [{ steps: [] }, 'steps', 'must be an object'],
    [{ always: ['never'] }, 'always.0', undefined],
    [{ always: 'negative' }, 'always', undefined],
    [{ sample: 1 }, 'sample', 'is not recognized'],
    [{ updatedAt: null }, 'updatedAt', 'is not recognized'],
  ] as const)('refuses %j', async ([policy, path, message], { expect }) => {
    const org = await newOrg()
    expect(await org.owner.put(pathOf(org), policy)).toMatchObject({
      status: 400,
      body: { details: [{ path, message: message ?? expect.any(String) }] },
    })
    expect((await policyOf(org)).updatedAt).toBeNull()
  })

  it('limits the number of steps and the length of their names', async ({ expect }) => {
    const org = await newOrg()
    const stepsOf = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          '😀'.repeat(MAX_NAME_LENGTH - 4) + String(index).padStart(4, '0'),
          { sample: 0.123_456_789_012_345_6, reviewers: MAX_REVIEWERS, blind: false },
        ]),
      )
    const escaped = JSON.stringify({ steps: stepsOf(MAX_POLICY_STEPS) }).replace(
      /[\ud800-\udfff]/g,
      unit => `\\u${unit.charCodeAt(0).toString(16)}`,
    )
    expect((await org.owner.put(pathOf(org), escaped)).status).toBe(200)
    expect((await policyOf(org)).steps).toEqual(stepsOf(MAX_POLICY_STEPS))
    expect(await org.owner.put(pathOf(org), { steps: stepsOf(MAX_POLICY_STEPS + 1) })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'steps', message: `must have at most ${MAX_POLICY_STEPS} steps` }] },
    })
  })

  it("can be set only by people, and agents can't rename steps that it lists", async ({ expect }) => {
    const org = await newOrg()
    const agent = org.clientOf(await org.keyFor({ scopes: ['read', 'manage'], actsAs: 'agent' }))
    expect(await agent.put(pathOf(org), {})).toMatchObject({ status: 403, body: { code: 'person_required' } })
    const names = `/api/projects/${org.project.id}/step-names`
    expect((await agent.put(names, { names: { a: 'b' } })).status).toBe(200)
    await org.owner.put(pathOf(org), { steps: { b: { sample: 0 } } })
    expect(await agent.put(names, { names: { a: 'c' } })).toMatchObject({
      status: 403,
      body: { code: 'person_required' },
    })
  })

  it('applies to its steps under their new names, and under their old names once the rename is undone', async ({
    expect,
  }) => {
    const org = await newOrg()
    const put = (steps: object) => org.owner.put(pathOf(org), { steps })
    const own = { sample: 0.5, reviewers: 2, blind: true }
    await put({ old: own })
    await rename(org, { old: 'new' })
    expect((await policyOf(org)).steps).toEqual({ new: own })
    // Either name sets the step's policy, and there's still only one policy.
    const { updatedAt } = await policyOf(org)
    for (const name of ['new', 'old']) {
      expect((await put({ [name]: own })).body).toMatchObject({ steps: { new: own }, updatedAt })
    }
    expect((await put({ new: { ...own, sample: 0.25 } })).body.steps).toEqual({ new: { ...own, sample: 0.25 } })
    await rename(org, {})
    expect((await policyOf(org)).steps).toEqual({ old: { ...own, sample: 0.25 } })

    await rename(org, { old: 'new', other: 'new' })
    expect(await put({ other: own, old: own, third: own })).toMatchObject({
      status: 400,
      body: {
        details: [{ path: 'steps.other', message: 'is the same step as "old", because both have the same new name' }],
      },
    })
    expect((await policyOf(org)).steps).toEqual({ new: { ...own, sample: 0.25 } })
    await rename(org, {})
    await put({ old: own, other: own })
    expect(await rename(org, { old: 'new', other: 'new' })).toMatchObject({
      status: 409,
      body: {
        details: [
          { path: 'names.old', message: 'has a review policy, and so does "other"' },
          { path: 'names.other', message: 'has a review policy, and so does "old"' },
        ],
      },
    })
  })
})
