import fc from 'fast-check'
import { describe, it } from 'vitest'
import { type Evaluator, escapeStep, evaluatorFaults, type Rule, Rules } from '../../src/domain/evaluator.ts'
import { MAX_EVALUATOR_PATH_BYTES, MAX_EVALUATOR_PATHS } from '../../src/limits.ts'

const ruleAt = (evaluator: Evaluator, steps: readonly string[]): Rule['type'] =>
  steps.reduce((rules, step) => rules.within(step), Rules.of(evaluator)).rule.type

const number: Rule = { type: 'number', tolerance: 0.01 }
const ignore: Rule = { type: 'ignore' }

describe("an evaluator's rules", () => {
  // `fields` is the default, which applies if no rule matches.
  it.for<[string, Evaluator, string[], Rule['type']]>([
    ['the default', {}, ['a'], 'fields'],
    ['a rule for the whole output', { type: 'exact' }, ['a', '0'], 'exact'],
    ['a path', { paths: { total: number } }, ['total'], 'number'],
    ['another path', { paths: { total: number } }, ['note'], 'fields'],
    ['a path with the same beginning', { paths: { 'a.b': number } }, ['a'], 'fields'],
    ['everything within a path', { paths: { a: ignore } }, ['a', 'b', '0'], 'ignore'],
    ['a longer path within another path', { paths: { a: ignore, 'a.b': number } }, ['a', 'b', 'c'], 'number'],
    ['an item', { paths: { 'items.0': number } }, ['items', '0'], 'number'],
    ['another item', { paths: { 'items.0': number } }, ['items', '1'], 'fields'],
    ['any item', { paths: { 'items.*.price': number } }, ['items', '7', 'price'], 'number'],
    ['any field', { paths: { '*.price': number } }, ['x', 'price'], 'number'],
    ['a name rather than a star', { paths: { '*': ignore, a: number } }, ['a'], 'number'],
    ['the path whose name comes first', { paths: { '*.b': ignore, 'a.*': number } }, ['a', 'b'], 'number'],
    ['a field with a dot', { paths: { 'a\\.b': number } }, ['a.b'], 'number'],
    ['a path rather than a field with a dot', { paths: { 'a.b': number } }, ['a.b'], 'fields'],
    ['a field named *', { paths: { '\\*': number } }, ['*'], 'number'],
    ['only a field named *', { paths: { '\\*': number } }, ['a'], 'fields'],
    ['a field with a backslash', { paths: { 'a\\\\b': number } }, ['a\\b'], 'number'],
    ['a field without a name', { paths: { '.a': number } }, ['', 'a'], 'number'],
    ['a last field without a name', { paths: { 'a.': number } }, ['a', ''], 'number'],
    ['a field that every object inherits', { paths: { constructor: number } }, ['constructor'], 'number'],
    ['a field that every object inherits, without a rule', {}, ['__proto__'], 'fields'],
  ])('are found by path: %s', ([, evaluator, steps, expected], { expect }) => {
    expect(evaluatorFaults(evaluator)).toEqual([])
    expect(ruleAt(evaluator, steps)).toBe(expected)
  })

  it('are found under any field name', ({ expect }) => {
    const aName = fc.oneof(fc.string(), fc.constantFrom('*', '.', '\\', '\\.', '..', '0', '__proto__'))
    fc.assert(
      fc.property(fc.array(aName, { minLength: 1, maxLength: 5 }), aName, (names, other) => {
        const path = names.map(escapeStep).join('.')
        fc.pre(path !== '')
        const evaluator = { paths: Object.fromEntries([[path, number]]) }
        expect(evaluatorFaults(evaluator)).toEqual([])
        expect(ruleAt(evaluator, names)).toBe('number')
        const last = names.at(-1) === other ? `${other}x` : other
        expect(ruleAt(evaluator, [...names.slice(0, -1), last])).toBe('fields')
      }),
      { numRuns: 500 },
    )
  })

  it.for<[string, string]>([
    ['', 'must name a part of the output'],
    ['a\\b', 'may have a backslash only before a dot, star, or backslash'],
    ['a\\', 'may have a backslash only before a dot, star, or backslash'],
    ['a'.repeat(MAX_EVALUATOR_PATH_BYTES + 1), `must have at most ${MAX_EVALUATOR_PATH_BYTES} bytes`],
    ['ä'.repeat(MAX_EVALUATOR_PATH_BYTES / 2 + 1), `must have at most ${MAX_EVALUATOR_PATH_BYTES} bytes`],
    ['.'.repeat(128), 'must have at most 128 steps'],
  ])("can't have the path %j", ([path, message], { expect }) => {
    expect(evaluatorFaults({ paths: { fine: ignore, [path]: ignore } })).toEqual([{ path: ['paths', path], message }])
  })

  it('have a tolerance only for numbers', ({ expect }) => {
    const message = 'is allowed only if `type` is `number`'
    expect(evaluatorFaults({ type: 'number', tolerance: 1, paths: { a: number } })).toEqual([])
    expect(evaluatorFaults({ tolerance: 1 })).toEqual([{ path: ['tolerance'], message }])
    expect(evaluatorFaults({ paths: { 'a.b': { type: 'text', tolerance: 0 } } })).toEqual([
      { path: ['paths', 'a.b', 'tolerance'], message },
    ])
  })

  it('have a bounded number of paths', ({ expect }) => {
    const paths = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, ignore]))
    expect(evaluatorFaults({ paths: paths(MAX_EVALUATOR_PATHS) })).toEqual([])
    expect(evaluatorFaults({ paths: paths(MAX_EVALUATOR_PATHS + 1) })).toEqual([
      { path: ['paths'], message: `must have at most ${MAX_EVALUATOR_PATHS} paths` },
    ])
  })
})
