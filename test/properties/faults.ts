import * as fc from 'fast-check'
import { vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { wrapBindings } from '../support/bindings.ts'
import { databases } from '../support/database.ts'
import { Flight, passTime } from '../support/simulated-time.ts'
import { pass } from './service.ts'

/**
 * What happens to a D1 call: it fails before it runs, it fails after it has run all statements of a batch but before it
 * commits them, its reply gets lost, or D1 never responds.
 */
const MOMENTS = ['before', 'midway', 'after', 'never'] as const

/** A fault in one database during one request. */
export interface Fault {
  /** The number of the database. */
  database: number
  /** The index of the first call that fails, and whether all later calls fail as well. */
  at: number
  stays: boolean
  moment: (typeof MOMENTS)[number]
  /** Whether the error indicates that a retry may succeed. */
  isPassing: boolean
}

export const fault: fc.Arbitrary<Fault> = fc.record({
  database: fc.nat(databases.length - 1),
  at: fc.nat(3),
  stays: fc.boolean(),
  moment: fc.constantFrom(...MOMENTS),
  isPassing: fc.boolean(),
})

/** A fault in which every call to this database fails, either with an error or because D1 never responds. */
export const silence = (database: number, moment: 'before' | 'never'): Fault => ({
  database,
  at: 0,
  stays: true,
  moment,
  isPassing: false,
})

/** Bindings with a fault, and the calls that are in flight. */
function faulty({ database, at, stays, moment, isPassing }: Fault) {
  const flight = new Flight()
  let calls = 0
  const bindings = wrapBindings(async (binding, call, breakOff, number) => {
    const isHit = binding === 'DB' && number === database && (stays ? calls++ >= at : calls++ === at)
    if (!isHit) return flight.run(call)
    if (moment === 'midway' && breakOff) await flight.run(breakOff).catch(() => {})
    if (moment === 'after') await flight.run(call)
    if (moment === 'never') return flight.hang()
    throw new Error(isPassing ? 'D1_ERROR: Network connection lost.' : 'D1_ERROR: D1 DB is overloaded.')
  })
  return { bindings, flight }
}

/** Calls `run` with faulty bindings. The service's clock advances only while `run` waits. */
export async function withFault<Result>(fault: Fault, run: (bindings: Env) => Promise<Result>): Promise<Result> {
  const { bindings, flight } = faulty(fault)
  const start = pass(0)
  vi.useRealTimers()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: start })
  try {
    return await passTime(run(bindings), flight)
  } finally {
    const end = Date.now()
    vi.useRealTimers()
    pass(end - start)
  }
}
