import { describe, it } from 'vitest'
import { columnsOfSchema, columnsOfValues } from '../../src/domain/output-columns.ts'
import { MAX_CSV_COLUMNS, MAX_CSV_COLUMNS_LENGTH } from '../../src/limits.ts'

describe('the columns of a schema', () => {
  it.for([
    ['its properties', { properties: { b: {}, a: { type: 'object', properties: { c: {} } } } }, ['b', 'a']],
    ['the properties that it refers to', { $ref: '#/$defs/a~1b', $defs: { 'a/b': { properties: { x: {} } } } }, ['x']],
    ['none for text', { type: 'string' }, []],
    ['none for a cycle', { $ref: '#' }, []],
    ['none for an unknown reference', { $ref: '#/$defs/Answer' }, []],
    ['none for a remote reference', { $ref: 'https://example.com/schema.json' }, []],
  ] as const)('are %s', ([, schema, columns], { expect }) => {
    expect(columnsOfSchema(JSON.parse(JSON.stringify(schema)))).toEqual(columns)
  })
})

describe('the columns of values', () => {
  it('are the fields of all objects, in the order in which they appear', ({ expect }) => {
    const values = [{ b: 1 }, 'text', null, [{ x: 1 }], { a: 1, b: 2 }, JSON.parse('{"__proto__":1}')]
    expect(columnsOfValues(values)).toEqual(['b', 'a', '__proto__'])
  })

  it('are few and short enough for a cursor', ({ expect }) => {
    const objectWith = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 1]))
    const many = Array.from({ length: 2 * MAX_CSV_COLUMNS }, (_, index) => `c${index}`)
    expect(columnsOfValues([objectWith(many)])).toEqual(many.slice(0, MAX_CSV_COLUMNS))
    const wide = columnsOfValues([objectWith(['é'.repeat(100), '"'.repeat(100), 'x'.repeat(MAX_CSV_COLUMNS_LENGTH)])])
    expect(wide).toEqual(['é'.repeat(100), '"'.repeat(100)])
  })
})
