import { describe, it } from 'vitest'
import { MAX_GUIDELINE_LENGTH } from '../../src/limits.ts'
import { newOrg } from '../support/org.ts'

const pathOf = (org: Awaited<ReturnType<typeof newOrg>>, stepId: string) =>
  `/api/projects/${org.project.id}/guidelines/${encodeURIComponent(stepId)}`

describe('a guideline', () => {
  it('is the only one for its step, and can be replaced and removed', async ({ expect }) => {
    const org = await newOrg()
    const path = pathOf(org, 'answer/final step')
    expect((await org.owner.get(path)).body).toMatchObject({ text: '', updatedAt: null })
    const first = await org.owner.put(path, { text: '**Check** the period.' })
    expect(first).toMatchObject({ status: 200, body: { text: '**Check** the period.' } })
    expect((await org.owner.get(path)).body).toEqual(first.body)
    // Setting the same text again has no effect.
    expect((await org.owner.put(path, { text: '**Check** the period.' })).body).toEqual(first.body)
    await org.owner.put(path, { text: '' })
    expect((await org.owner.get(path)).body).toMatchObject({ id: first.body.id, text: '' })
    const { entries } = (await org.owner.get('/api/audit-log?action=guideline.set')).body
    expect(entries).toHaveLength(2)
  })

  it('may be as long as the limit, but no longer', async ({ expect }) => {
    const org = await newOrg()
    const path = pathOf(org, 'answer')
    expect((await org.owner.put(path, { text: 'x'.repeat(MAX_GUIDELINE_LENGTH) })).status).toBe(200)
    expect(await org.owner.put(path, { text: 'x'.repeat(MAX_GUIDELINE_LENGTH + 1) })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'text', message: `must have at most ${MAX_GUIDELINE_LENGTH} characters` }] },
    })
  })

  it('follows its step to a new name and back, and prevents a rename if it would clash with another guideline', async ({
    expect,
  }) => {
    const org = await newOrg()
    const names = `/api/projects/${org.project.id}/step-names`
    await org.owner.put(pathOf(org, 'old'), { text: 'Of the old step' })
    await org.owner.put(names, { names: { old: 'new' } })
    expect((await org.owner.get(pathOf(org, 'new'))).body.text).toBe('Of the old step')
    expect((await org.owner.put(pathOf(org, 'new'), { text: 'Changed' })).body.text).toBe('Changed')
    await org.owner.put(names, { names: {} })
    expect((await org.owner.get(pathOf(org, 'old'))).body.text).toBe('Changed')
    expect((await org.owner.get(pathOf(org, 'new'))).body.text).toBe('')

    await org.owner.put(pathOf(org, 'new'), { text: 'Of the new step' })
    expect(await org.owner.put(names, { names: { old: 'new' } })).toMatchObject({
      status: 409,
      body: { details: [{ path: 'names.old', message: 'has a guideline, and so does "new"' }] },
    })
    // An empty guideline doesn't clash, and the guideline under the other name is shown.
    await org.owner.put(pathOf(org, 'old'), { text: '' })
    await org.owner.put(names, { names: { old: 'new' } })
    expect((await org.owner.get(pathOf(org, 'old'))).body.text).toBe('Of the new step')
    await org.owner.put(pathOf(org, 'old'), { text: 'Both names' })
    await org.owner.put(names, { names: {} })
    const texts = await Promise.all(
      ['old', 'new'].map(async step => (await org.owner.get(pathOf(org, step))).body.text),
    )
    expect(texts.toSorted()).toEqual(['', 'Both names'])
  })
})
