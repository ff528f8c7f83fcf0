import { describe, it } from 'vitest'
import { Evaluator } from '../../src/datasets/wire.ts'
import { parse } from '../../src/http/validation.ts'

describe('an evaluator', () => {
  it.for([
    [{}],
    [{ type: 'exact' }],
    [{ type: 'number', tolerance: 0 }],
    [{ paths: { total: { type: 'number', tolerance: 0.01 }, note: { type: 'ignore' } } }],
    [{ type: 'text', paths: { 'items.*.price': { type: 'number' } } }],
  ])('is accepted: %j', ([evaluator], { expect }) => {
    expect(parse(Evaluator, evaluator)).toEqual(evaluator)
  })

  it.for<[unknown, string]>([
    [{ type: 'ignore' }, 'type'],
    [{ type: 'number', tolerance: -1 }, 'tolerance'],
    [{ type: 'number', tolerance: Number.POSITIVE_INFINITY }, 'tolerance'],
    [{ type: 'number', tolerance: '1' }, 'tolerance'],
    [{ type: 'text', tolerance: 1 }, 'tolerance'],
    [{ path: {} }, 'path'],
    [{ paths: { 'a.b': 'exact' } }, 'paths.a.b'],
    [{ paths: { 'a.b': { type: 'equal' } } }, 'paths.a.b.type'],
    [{ paths: { 'a.b': { type: 'exact', tolerance: 1 } } }, 'paths.a.b.tolerance'],
    [{ paths: { 'a\\b': { type: 'exact' } } }, 'paths.a\\b'],
    [{ paths: { '': { type: 'exact' } } }, 'paths.'],
  ])('is rejected with the path of its fault: %j', ([evaluator, path], { expect }) => {
    expect(() => parse(Evaluator, evaluator)).toThrow(
      expect.objectContaining({ status: 400, details: [expect.objectContaining({ path })] }),
    )
  })
})
