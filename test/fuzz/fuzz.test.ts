import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { it } from 'vitest'
import { client } from '../support/org.ts'
import { ApiDocument, type Operation } from './document.ts'
import { allowed, anyPlan, anyRepetition, type Plan, type Repetition } from './plans.ts'
import { newRun, take } from './run.ts'

/*
 * Drives all that the served OpenAPI document lists, the moment it is listed, with generated requests. FUZZ_SECONDS says for
 * how long; FUZZ_SEED shows a failure again.
 */

/** Runs of one seed. A usual `npm test` tries one seed. */
const RUNS = 8

/** How many seeds are tried, however short the time, before an operation counts as one that does nothing. */
const MAX_ROUNDS = 5

/** Requests of a run at most, after one to each operation. */
const REQUESTS = 100

/** For how long a failure is made smaller. */
const SHRINKING_MS = 120_000

const seconds = Number(env.FUZZ_SECONDS)
/** A run that goes on for some time looks for new cases; `npm test` tries the same ones each time. */
const newSeed = seconds > 0 ? crypto.getRandomValues(new Int32Array(1))[0] : 1
const firstSeed = Number(env.FUZZ_SEED || newSeed)

it('answers generated requests as the document says', { timeout: 1000 * seconds + 2 * SHRINKING_MS }, async ({
  expect,
}) => {
  const document = new ApiDocument((await client({}).get('/openapi.json')).body)
  const undone = new Set(document.operations.filter(({ method, path }) => !OUT_OF_REACH.has(`${method} ${path}`)))
  const property = fc.asyncProperty(steps(document.operations), async steps => {
    const run = await newRun(document)
    for (const step of steps) {
      const done = await take(run, step)
      if (done) undone.delete(done)
    }
  })
  const end = Date.now() + 1000 * seconds
  for (let round = 0; round === 0 || Date.now() < end || (undone.size > 0 && round < MAX_ROUNDS); round++) {
    const parameters = { seed: firstSeed + round, numRuns: RUNS, plugins: [fc.interruptAfterTimeLimit(SHRINKING_MS)] }
    const { failed, errorInstance } = await fc.check(property, parameters)
    if (failed) throw new Error(`FUZZ_SEED=${firstSeed + round} shows it again: ${errorInstance}`)
  }
  const names = [...undone].map(({ method, path }) => `${method} ${path}`)
  expect(names, 'operations that never did what was asked for').toEqual([])
})

/** What needs more than a key and the document: a team of Cloudflare Access; the slug of the project that all else is in. */
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  'GET /api/session/organizations',
  'DELETE /api/projects/{projectId}',
])

/** What the document allows of every operation, those first that need no ids, and then anything. */
function steps(operations: readonly Operation[]): fc.Arbitrary<(Plan | Repetition)[]> {
  const first = operations.toSorted((left, right) => needsOf(left) - needsOf(right)).map(allowed)
  const next = fc.oneof({ arbitrary: anyPlan(operations), weight: 6 }, { arbitrary: anyRepetition, weight: 4 })
  return fc
    .tuple(droppable(first), fc.array(next, { maxLength: REQUESTS, size: 'max' }))
    .map(([first, then]) => [...first, ...then])
}

/** A value of each, of which halves and their halves are left out where a failure does not need them. */
function droppable<T>(each: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T[]> {
  const half = Math.ceil(each.length / 2)
  const all =
    each.length > 1
      ? fc.tuple(droppable(each.slice(0, half)), droppable(each.slice(half))).map(halves => halves.flat())
      : fc.tuple(...each)
  return fc.option(all, { nil: [], freq: 500 })
}

/** The ids in its path. Deletions come last. */
const needsOf = ({ method, path }: Operation): number => path.split('{').length + (method === 'DELETE' ? 10 : 0)
