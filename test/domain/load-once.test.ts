import { describe, it } from 'vitest'
import { loadOnce } from '../../src/domain/load-once.ts'

describe('a module that is loaded once', () => {
  it('is not loaded again, unless loading it failed', async ({ expect }) => {
    const outcomes = [new Error('lost'), { name: 'first' }, { name: 'second' }]
    const load = loadOnce(async () => {
      const outcome = outcomes.shift()
      if (outcome instanceof Error) throw outcome
      return outcome
    })
    await expect(load()).rejects.toThrow('lost')
    expect(await load()).toEqual({ name: 'first' })
    expect(await load()).toEqual({ name: 'first' })
  })

  it('does not make one request wait for another', async ({ expect }) => {
    const pending = [new Promise<string>(() => {}), Promise.resolve('loaded')]
    const load = loadOnce(() => pending.shift() ?? Promise.reject(new Error('loaded twice')))
    load()
    expect(await load()).toBe('loaded')
  })
})
