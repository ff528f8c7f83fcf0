import fc from 'fast-check'
import { describe, it } from 'vitest'
import { CHANGES } from '../../src/domain/change.ts'
import { OUTCOMES } from '../../src/domain/outcome.ts'
import { type CountedResult, countResults, Tally } from '../../src/domain/tally.ts'
import { MAX_REPORTED_FIELDS } from '../../src/limits.ts'

const aResult: fc.Arbitrary<CountedResult> = fc.record({
  split: fc.constantFrom('train', 'test', 'constructor'),
  errorType: fc.constantFrom(null, 'hallucination', '__proto__'),
  outcome: fc.constantFrom(...OUTCOMES),
  change: fc.constantFrom(null, ...CHANGES),
  fields: fc.uniqueArray(
    fc.record({ path: fc.constantFrom('', 'a', 'b', 'items.*.c', '__proto__', '_rest'), agrees: fc.boolean() }),
    { maxLength: 4, selector: ({ path }) => path },
  ),
  durationMs: fc.option(fc.nat(100_000)),
  usage: fc.option(fc.record({ inputTokens: fc.nat(1e9), outputTokens: fc.nat(1e9), totalTokens: fc.nat(1e9) })),
  costUsd: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
  wasRight: fc.constantFrom(null, true, false),
  saidSame: fc.constantFrom(null, true, false),
})
const someResults = fc.array(aResult, { maxLength: 20 })

const tallied = (results: readonly CountedResult[]): Tally => {
  const tally = new Tally()
  for (const result of results) tally.add(result)
  return tally
}
const result = (fields: Partial<CountedResult>): CountedResult => ({
  split: 'test',
  errorType: null,
  outcome: 'passed',
  change: null,
  fields: [],
  durationMs: null,
  usage: null,
  costUsd: null,
  wasRight: null,
  saidSame: null,
  ...fields,
})

describe('a tally', () => {
  it('is the same before results are added and after they are subtracted', ({ expect }) => {
    fc.assert(
      fc.property(someResults, someResults, (kept, removed) => {
        const tally = tallied([...kept, ...removed])
        for (const each of removed) tally.subtract(each)
        expect(JSON.stringify(tally)).toBe(JSON.stringify(tallied(kept)))
      }),
    )
  })

  it("doesn't depend on the order of results, or on whether it's stored in between", ({ expect }) => {
    fc.assert(
      fc.property(someResults, someResults, (first, second) => {
        const stored = new Tally(JSON.parse(JSON.stringify(tallied(second))))
        for (const each of first) stored.add(each)
        expect(JSON.stringify(stored)).toBe(JSON.stringify(tallied([...first, ...second])))
      }),
    )
  })

  it('counts results by outcome and change, by split, and by error type', ({ expect }) => {
    const tally = tallied([
      result({ change: 'fixed', errorType: 'a' }),
      result({ change: 'fixed', errorType: 'b' }),
      result({ change: 'stillRight', split: 'train' }),
      result({ outcome: 'failed', change: 'stillWrong', errorType: 'b' }),
      result({ outcome: 'unjudged' }),
      result({ outcome: 'error' }),
    ])
    expect(tally.counts()).toEqual({
      passed: 3,
      failed: 1,
      unjudged: 1,
      error: 1,
      fixed: 2,
      regressed: 0,
      stillRight: 1,
      stillWrong: 1,
    })
    expect(countResults(tally.counts())).toBe(6)
    expect(tally.counts('train')).toMatchObject({ passed: 1, failed: 0, stillRight: 1 })
    expect(tally.counts('none')).toMatchObject({ passed: 0 })
    expect(tally.bySplit()).toMatchObject([
      { split: 'test', counts: { passed: 2, error: 1 } },
      { split: 'train', counts: { passed: 1, error: 0 } },
    ])
    expect(tally.byErrorType()).toMatchObject([
      { errorType: 'b', counts: { fixed: 1, stillWrong: 1 } },
      { errorType: 'a', counts: { fixed: 1, stillWrong: 0 } },
    ])
  })

  it("counts a model's judgments of unjudged results separately from their outcomes", ({ expect }) => {
    const unjudged = (saidSame: boolean | null, wasRight: boolean | null, split = 'test') =>
      result({ outcome: 'unjudged', saidSame, wasRight, split })
    const tally = tallied([
      result({ change: 'stillRight', wasRight: true }),
      // A person decided on these two results.
      result({ saidSame: false, wasRight: true }),
      result({ outcome: 'failed', saidSame: true, wasRight: true }),
      unjudged(null, true),
      unjudged(true, true),
      unjudged(true, false),
      unjudged(false, true),
      unjudged(false, true),
      unjudged(false, false),
      unjudged(false, null),
      unjudged(true, true, 'train'),
    ])
    expect(tally.said()).toEqual({ same: 3, different: 4 })
    expect(tally.said('train')).toEqual({ same: 1, different: 0 })
    expect(tally.counts('test')).toMatchObject({ passed: 2, failed: 1, unjudged: 7, stillRight: 1, regressed: 0 })
    expect(tally.countsAsSaid('test')).toEqual({
      passed: 4,
      failed: 5,
      unjudged: 1,
      error: 0,
      fixed: 1,
      regressed: 2,
      stillRight: 2,
      stillWrong: 1,
    })
  })

  it('reads tallies that were stored before models judged results', ({ expect }) => {
    const { judged: _, ...stored } = tallied([result({ outcome: 'unjudged' })]).toJSON()
    expect(new Tally(stored).said()).toEqual({ same: 0, different: 0 })
    expect(new Tally(stored).countsAsSaid('test')).toEqual(new Tally(stored).counts('test'))
  })

  it('adds up usage, and counts the results that report it', ({ expect }) => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
    const tally = tallied([
      result({ usage, costUsd: 0.1, durationMs: 100 }),
      result({ usage, costUsd: 0.2 }),
      result({ outcome: 'error' }),
    ])
    expect(tally.toJSON()).toMatchObject({
      totalTokens: { sum: 30, results: 2 },
      costNanoUsd: { sum: 300_000_000, results: 2 },
    })
    expect(Object.values(tally.toJSON().durations)).toEqual([1])
  })

  const fields = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ path: `f${1000 + from + index}`, agrees: true }))

  it('lists the same 200 fields regardless of the order of results', ({ expect }) => {
    const results = [0, 150, 100, 400, 50].map(from => result({ fields: fields(from, 50) }))
    const forward = tallied(results).toJSON()
    expect(forward.fields).toHaveLength(MAX_REPORTED_FIELDS)
    expect(forward.fields.map(({ path }) => path)).toEqual(fields(0, 200).map(({ path }) => path))
    expect(forward.restOfFields).toEqual({ path: '_rest', compared: 50, agreed: 50 })
    expect(tallied(results.toReversed()).toJSON()).toEqual(forward)
  })

  it('counts every field even if there are more than 200', ({ expect }) => {
    const [first, second] = [0, 190].map(from => result({ fields: fields(from, 195) }))
    if (!first || !second) throw new Error('two results')
    const tally = tallied([first, second, first])
    tally.subtract(first)
    tally.subtract(second)
    const { fields: named, restOfFields } = tally.toJSON()
    const compared = named.reduce((sum, field) => sum + field.compared, restOfFields?.compared ?? 0)
    expect(compared).toBe(195)
    expect(named.every(field => field.compared >= 0)).toBe(true)
    expect(named.find(({ path }) => path === 'f1000')).toEqual({ path: 'f1000', compared: 1, agreed: 1 })
  })
})
