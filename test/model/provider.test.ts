import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Env } from '../../src/env.ts'
import { ApiError } from '../../src/http/errors.ts'
import { requireModel } from '../../src/model/provider.ts'

/** The error from a request that needs a model. */
function refusalWith(settings: Partial<Env>): ApiError | undefined {
  try {
    requireModel({ ...env, ...settings })
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return undefined
}

describe('a request that needs a model', () => {
  it('gets a 409 that says how to configure one', ({ expect }) => {
    const refusal = refusalWith({})
    expect(refusal).toMatchObject({ status: 409, code: 'model_not_configured' })
    for (const way of ['--workers-ai', 'ATTRIBUTION_MODEL', 'ATTRIBUTION_API_KEY', 'docs/configuration.md']) {
      expect(refusal?.message).toContain(way)
    }
  })

  it('gets a 409 that names the setting if a setting is wrong', ({ expect }) => {
    const wrong = { status: 409, code: 'model_not_configured' }
    expect(refusalWith({ ATTRIBUTION_MODEL: 'openai/some-model' })).toMatchObject({
      ...wrong,
      message: 'ATTRIBUTION_MODEL needs ATTRIBUTION_API_KEY for OpenAI',
    })
    expect(
      refusalWith({ ATTRIBUTION_MODEL: 'openai/some-model', ATTRIBUTION_API_KEY: 'k', ATTRIBUTION_INPUT_PRICE: '1' }),
    ).toMatchObject({ ...wrong, message: expect.stringContaining('ATTRIBUTION_OUTPUT_PRICE') })
  })

  it('gets the settings of a configured model', ({ expect }) => {
    const settings = requireModel({ ...env, ATTRIBUTION_MODEL: 'openai/some-model', ATTRIBUTION_API_KEY: 'k' })
    expect(settings).toMatchObject({ name: 'openai/some-model', prices: null })
  })
})
