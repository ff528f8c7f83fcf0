import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { FIRST_LEASE_TOKENS, LIMITER_TIMEOUT_MS } from '../../src/limits.ts'
import { Tokens } from '../../src/rate-limit/lease.ts'
import { type Ask, EMPTY_COUNT, type Grant, grant } from '../../src/rate-limit/window.ts'
import { greedy, mostInAnyMinute } from './admitted.ts'

type Limiter = (ask: Ask, nowMs: number) => Promise<Grant>

interface Scenario {
  limit: number
  isolates: number
  /** The number of requests as a multiple of the limit. */
  load: number
  minutes: number
}

interface Outcome {
  sent: number[]
  admitted: number[]
  asks: number
}

const START = Date.UTC(2026, 10, 21)

/** A generator of numbers from 0 to 1 that yields the same numbers in every run. */
function newRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function newLimiter(): Limiter {
  let count = EMPTY_COUNT
  return async (ask, nowMs) => {
    const next = grant(count, ask, nowMs)
    count = next.count
    return next.grant
  }
}

/**
 * Sends requests at random times to random isolates. On each lease request, `fault` may replace the isolate or lose the
 * response.
 */
async function run(
  { limit, isolates, load, minutes }: Scenario,
  limiter: Limiter,
  fault: () => 'dies' | 'response lost' | 'unreachable' | undefined = () => undefined,
): Promise<Outcome> {
  const random = newRandom(limit * isolates + load * 10)
  const holders = Array.from({ length: isolates }, () => new Tokens())
  const outcome: Outcome = { sent: [], admitted: [], asks: 0 }
  const end = START + minutes * 60_000
  for (let now = START; now < end; now += -Math.log(1 - random()) * (60_000 / (limit * load))) {
    const index = Math.floor(random() * isolates)
    // Isolates' clocks differ, but only the limiter's clock is used.
    const ownTime = Math.floor(now) + index * 45_000
    outcome.sent.push(now)
    const ask = async (request: Ask) => {
      outcome.asks++
      const failure = fault()
      if (failure === 'unreachable') throw new Error('Network connection lost.')
      const granted = await limiter(request, Math.floor(now))
      if (failure === 'response lost') throw new Error('Network connection lost.')
      if (failure === 'dies') holders[index] = new Tokens()
      return granted
    }
    const verdict = await holders[index]?.take(limit, ownTime, ask).catch(() => undefined)
    if (verdict?.allowed) outcome.admitted.push(now)
  }
  return outcome
}

const scenarios = [5, 100, 600, 6000].flatMap(limit =>
  [1, 8, 50].flatMap(isolates => [0.5, 1, 5].map(load => ({ limit, isolates, load, minutes: 4 }))),
)

describe('tokens taken in leases', () => {
  it.for(scenarios)(
    'stay within a limit of $limit in $isolates isolates at $load times the limit',
    async (scenario, { expect }) => {
      const { limit, isolates, load } = scenario
      const { sent, admitted, asks } = await run(scenario, newLimiter())
      expect(mostInAnyMinute(admitted)).toBeLessThanOrEqual(limit)
      // Some tokens are lost, because leases aren't fully spent and because the limiter counts in whole seconds.
      expect(admitted.length).toBeGreaterThan(0.8 * greedy(limit, sent, 60_000).length)
      if (load < 1) expect(admitted.length).toBeGreaterThan(0.98 * greedy(limit, sent, 60_000).length)
      if (limit === 6000 && isolates <= 8) expect(asks / sent.length).toBeLessThan(0.05)
    },
  )

  it.for(['dies', 'response lost', 'unreachable'] as const)(
    'never exceed the limit if an isolate or its lease request sometimes fails: %s',
    async (failure, { expect }) => {
      const random = newRandom(7)
      const scenario = { limit: 600, isolates: 8, load: 5, minutes: 4 }
      const { admitted } = await run(scenario, newLimiter(), () => (random() < 0.2 ? failure : undefined))
      expect(mostInAnyMinute(admitted)).toBeLessThanOrEqual(600)
      expect(admitted.length).toBeGreaterThan(600)
    },
  )

  it('stay within the limit if the Durable Object is evicted repeatedly: 8 isolates, 5 times the limit', async ({
    expect,
  }) => {
    const limiter = env.RATE_LIMITER.get(env.RATE_LIMITER.newUniqueId())
    let calls = 0
    const evicting: Limiter = async (ask, nowMs) => {
      if (++calls % 50 === 0) await evictDurableObject(limiter)
      return limiter.take(ask, nowMs)
    }
    const { sent, admitted, asks } = await run({ limit: 6000, isolates: 8, load: 5, minutes: 2.5 }, evicting)
    expect(mostInAnyMinute(admitted)).toBeLessThanOrEqual(6000)
    expect(admitted.length).toBeGreaterThan(0.9 * greedy(6000, sent, 60_000).length)
    expect(asks / sent.length).toBeLessThan(0.05)
    expect(calls).toBeGreaterThan(100)
  })

  it('never exceed a limit of 5, no matter how many isolates take them', async ({ expect }) => {
    const limiter = newLimiter()
    const holders = Array.from({ length: 8 }, () => new Tokens())
    const verdicts = await Promise.all(
      holders.flatMap(tokens => Array.from({ length: 3 }, () => tokens.take(5, START, ask => limiter(ask, START)))),
    )
    expect(verdicts.filter(verdict => verdict?.allowed)).toHaveLength(5)
  })

  it('are not requested again after a denial until tokens return', async ({ expect }) => {
    const limiter = newLimiter()
    const tokens = new Tokens()
    let asks = 0
    const takeAt = (second: number) =>
      tokens.take(1, START + second * 1000, request => {
        asks++
        return limiter(request, START + second * 1000)
      })
    expect(await takeAt(0)).toMatchObject({ allowed: true, remaining: 0 })
    for (let second = 1; second < 61; second++) {
      expect(await takeAt(second)).toEqual(expect.objectContaining({ allowed: false, resetSeconds: 61 - second }))
    }
    expect(asks).toBe(2)
    expect(await takeAt(61)).toMatchObject({ allowed: true })
  })

  it('are requested one by one while a lease is pending, so that a burst takes only what it needs', async ({
    expect,
  }) => {
    const limiter = newLimiter()
    const tokens = new Tokens()
    const requestedTokens: number[] = []
    const ask = async (request: Ask) => {
      requestedTokens.push(request.tokens)
      await scheduler.wait(1)
      return limiter(request, START)
    }
    const burst = await Promise.all(Array.from({ length: 20 }, () => tokens.take(6000, START, ask)))
    expect(burst.every(verdict => verdict?.allowed)).toBe(true)
    expect(requestedTokens.filter(tokens => tokens > 1)).toHaveLength(1)
    expect(requestedTokens).toHaveLength(20)
  })

  it('are leased again after a renewal that never finished because its client disconnected', async ({ expect }) => {
    const limiter = newLimiter()
    const tokens = new Tokens()
    tokens.take(6000, START, () => new Promise(() => {}))
    const requestedTokens: number[] = []
    const takeAt = (now: number) =>
      tokens.take(6000, now, request => {
        requestedTokens.push(request.tokens)
        return limiter(request, now)
      })
    await takeAt(START + 1)
    await takeAt(START + LIMITER_TIMEOUT_MS)
    expect(requestedTokens).toEqual([1, FIRST_LEASE_TOKENS])
  })

  it('are not requested for a second after the limiter could not be reached', async ({ expect }) => {
    const tokens = new Tokens()
    let asks = 0
    const takeAt = (milliseconds: number) =>
      tokens.take(6000, START + milliseconds, async () => {
        asks++
        throw new Error('Network connection lost.')
      })
    await expect(takeAt(0)).rejects.toThrow('Network connection lost.')
    expect(await takeAt(1)).toBeUndefined()
    expect(await takeAt(999)).toBeUndefined()
    await expect(takeAt(1000)).rejects.toThrow('Network connection lost.')
    expect(asks).toBe(2)
  })
})
