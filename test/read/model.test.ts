import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { DAY_MS, MODEL_DAILY_LIMIT } from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'

const PATH = '/api/model?projectSlug=support'
const CONFIGURED = { ...env, ATTRIBUTION_MODEL: 'openai/some-model', ATTRIBUTION_API_KEY: 'sk-secret' }

describe('the configured model', () => {
  it('is reported as missing, with a reason that says how to configure one', async ({ expect }) => {
    const org = await newOrg()
    expect((await org.owner.get(PATH)).body).toEqual({
      model: null,
      reason: expect.stringContaining('docs/configuration.md'),
    })
    const wrong = org.clientOf(org.ownerKey, { ...CONFIGURED, ATTRIBUTION_INPUT_PRICE: 'free' })
    expect((await wrong.get(PATH)).body).toEqual({
      model: null,
      reason: expect.stringContaining('ATTRIBUTION_INPUT_PRICE'),
    })
  })

  it('shows its price and the calls left today, but no secret', async ({ expect }) => {
    const org = await newOrg()
    const prices = { ATTRIBUTION_INPUT_PRICE: '0.4', ATTRIBUTION_OUTPUT_PRICE: '1.6' }
    const { body } = await org.clientOf(org.ownerKey, { ...CONFIGURED, ...prices }).get(PATH)
    expect(body).toEqual({
      model: {
        name: 'openai/some-model',
        prices: { input: 0.4, output: 1.6 },
        dailyLimit: MODEL_DAILY_LIMIT,
        callsLeft: MODEL_DAILY_LIMIT,
      },
      reason: null,
    })
    expect(JSON.stringify(body)).not.toContain('secret')
  })

  it('counts only the calls that the project made that day', async ({ expect }) => {
    const org = await newOrg()
    const limited = org.clientOf(org.ownerKey, { ...CONFIGURED, MODEL_DAILY_LIMIT: '5' })
    const today = Math.floor(Date.now() / DAY_MS)
    const spend = (day: number, calls: number) =>
      stored
        .prepare('insert or replace into model_calls select key, ?, ? from projects where id = ?')
        .bind(day, calls, org.project.id)
        .run()
    const left = async () => (await limited.get(PATH)).body.model.callsLeft
    await spend(today - 1, 5)
    expect(await left()).toBe(5)
    await spend(today, 3)
    expect(await left()).toBe(2)
    await spend(today, 7)
    expect(await left()).toBe(0)
  })
})
