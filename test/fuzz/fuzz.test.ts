import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { it } from 'vitest'
import { client } from '../support/org.ts'
import { ApiDocument, type Operation } from './document.ts'
import { allowed, anyPlan, anyRepetition, type Plan, type Repetition } from './plans.ts'
import { newRun, take } from './run.ts'

/*
 * Sends generated requests to every operation that the served OpenAPI document lists. FUZZ_SECONDS sets the duration,
 * and FUZZ_SEED reproduces a failure.
 */

/** The number of runs per seed. A regular `npm test` tries one seed. */
const RUNS = 8

/** Even a short run tries up to this many seeds, until every operation has succeeded once. */
const MAX_ROUNDS = 5

/** The maximum number of requests in a run, in addition to the first request to each operation. */
const REQUESTS = 100

/** The time limit for shrinking a failure. */
const SHRINKING_MS = 120_000

const seconds = Number(env.FUZZ_SECONDS)
/** Long runs look for new cases, but `npm test` tries the same ones each time. */
const newSeed = seconds > 0 ? crypto.getRandomValues(new Int32Array(1))[0] : 1
const firstSeed = Number(env.FUZZ_SEED || newSeed)

it('responds to generated requests as the OpenAPI document says', {
  timeout: 1000 * seconds + 2 * SHRINKING_MS,
}, async ({ expect }) => {
  const document = new ApiDocument((await client({}).get('/openapi.json')).body)
  const unreached = new Set(document.operations.filter(({ method, path }) => !OUT_OF_REACH.has(`${method} ${path}`)))
  const property = fc.asyncProperty(steps(document.operations), async steps => {
    const run = await newRun(document)
    for (const step of steps) {
      const done = await take(run, step)
      if (done) unreached.delete(done)
    }
  })
  const end = Date.now() + 1000 * seconds
  for (let round = 0; round === 0 || Date.now() < end || (unreached.size > 0 && round < MAX_ROUNDS); round++) {
    const parameters = { seed: firstSeed + round, numRuns: RUNS, plugins: [fc.interruptAfterTimeLimit(SHRINKING_MS)] }
    const { failed, errorInstance } = await fc.check(property, parameters)
    if (failed) throw new Error(`FUZZ_SEED=${firstSeed + round} reproduces it: ${errorInstance}`)
  }
  const names = [...unreached].map(({ method, path }) => `${method} ${path}`)
  expect(names, 'operations that never succeeded').toEqual([])
})

/**
 * Operations that need more than a key and the document: a Cloudflare Access team, the slug of the main project, and a
 * version, split, prompt version, and baseline that all belong to one dataset. Each run begins with three experiments.
 */
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  'GET /api/session/organizations',
  'DELETE /api/projects/{projectId}',
  'POST /api/experiments',
])

/**
 * The steps of a run: first an allowed request to every operation, starting with those that need no ids, and then
 * arbitrary requests.
 */
function steps(operations: readonly Operation[]): fc.Arbitrary<(Plan | Repetition)[]> {
  const first = operations.toSorted((left, right) => needsOf(left) - needsOf(right)).map(allowed)
  const next = fc.oneof({ arbitrary: anyPlan(operations), weight: 6 }, { arbitrary: anyRepetition, weight: 4 })
  return fc
    .tuple(droppable(first), fc.array(next, { maxLength: REQUESTS, size: 'max' }))
    .map(([first, then]) => [...first, ...then])
}

/**
 * A list with a value from each arbitrary. Shrinking drops what the failure doesn't need: first halves, then quarters,
 * and so on.
 */
function droppable<T>(each: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T[]> {
  const half = Math.ceil(each.length / 2)
  const all =
    each.length > 1
      ? fc.tuple(droppable(each.slice(0, half)), droppable(each.slice(half))).map(halves => halves.flat())
      : fc.tuple(...each)
  return fc.option(all, { nil: [], freq: 500 })
}

/** The number of ids in the operation's path, plus a penalty that puts deletions last. */
const needsOf = ({ method, path }: Operation): number => path.split('{').length + (method === 'DELETE' ? 10 : 0)
