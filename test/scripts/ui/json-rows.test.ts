import { describe, it } from 'vitest'
import type { Json } from '../../../src/ui/api/wire.ts'
import { jsonRows, toggledToShow } from '../../../src/ui/json/json-rows.ts'

const NONE: ReadonlySet<string> = new Set()

const pathsOf = (value: Json, toggled = NONE) => jsonRows(value, toggled).map(({ path }) => path)

/** Objects nested to the given depth, with a string in the innermost one. */
function nested(levels: number): Json {
  let value: Json = 'within'
  for (let level = 0; level < levels; level += 1) value = { a: value }
  return value
}

const pathOf = (levels: number): string => Array.from({ length: levels }, () => 'a').join('.')

describe('jsonRows', () => {
  it('shows a line for each value, top to bottom', ({ expect }) => {
    const rows = jsonRows({ user: { id: 7, tags: ['vip', null] }, ok: true }, NONE)
    expect(rows.map(({ path, name, depth, size }) => [path, name, depth, size])).toEqual([
      ['user', 'user', 0, 2],
      ['user.id', 'id', 1, null],
      ['user.tags', 'tags', 1, 2],
      ['user.tags.0', '0', 2, null],
      ['user.tags.1', '1', 2, null],
      ['ok', 'ok', 0, null],
    ])
  })

  it.for([['text'], [''], [0], [false], [null]] as [Json][])('shows one line for %j', ([value], { expect }) => {
    expect(jsonRows(value, NONE)).toEqual([
      { pointer: '', path: '', name: null, depth: 0, value, size: null, isOpen: false },
    ])
  })

  it('shows empty lists and objects as not expandable', ({ expect }) => {
    expect(jsonRows({ list: [], object: {} }, NONE)).toMatchObject([{ size: null }, { size: null }])
    for (const value of [[], {}]) expect(jsonRows(value, new Set(['']))).toMatchObject([{ size: null, isOpen: false }])
  })

  it('folds deep and long values until the user opens them', ({ expect }) => {
    const value = { a: { b: { c: { d: { e: 1 } } } }, list: Array.from({ length: 201 }, (_, index) => index) }
    expect(pathsOf(value)).toEqual(['a', 'a.b', 'a.b.c', 'a.b.c.d', 'list'])
    expect(pathsOf(value, new Set(['/a/b/c/d']))).toContain('a.b.c.d.e')
    expect(pathsOf(value, new Set(['/list']))).toContain('list.200')
  })

  it('folds toggled values', ({ expect }) => {
    expect(pathsOf({ a: { b: 1 }, c: 2 }, new Set(['/a']))).toEqual(['a', 'c'])
  })

  it('treats names that are special in JavaScript like any others', ({ expect }) => {
    const value: Json = JSON.parse('{"__proto__": {"toString": 1}, "constructor": null, "": 2}')
    expect(pathsOf(value)).toEqual(['__proto__', '__proto__.toString', 'constructor', ''])
  })

  it('opens 1,000 levels', ({ expect }) => {
    const levels = 1_000
    const value = nested(levels)
    expect(jsonRows(value, NONE)).toHaveLength(4)
    const rows = jsonRows(value, toggledToShow(value, pathOf(levels), NONE))
    expect(rows).toHaveLength(levels)
    expect(rows.at(-1)).toMatchObject({ depth: levels - 1, value: 'within', size: null })
  })

  it('lists a hundred thousand items', ({ expect }) => {
    const value = Array.from({ length: 100_000 }, (_, index) => ({ index }))
    expect(jsonRows({ value }, NONE)).toHaveLength(1)
    expect(jsonRows(value, NONE)).toHaveLength(200_000)
  })
})

describe('toggledToShow', () => {
  const shown = (value: Json, path: string, toggled = NONE) => pathsOf(value, toggledToShow(value, path, toggled))

  it('opens the values along the path, and nothing else', ({ expect }) => {
    const value = { a: { b: { c: { d: { e: { f: 1 } } } } }, other: { x: { y: { z: { deep: 1 } } } } }
    expect(shown(value, 'a.b.c.d.e.f')).toContain('a.b.c.d.e.f')
    expect(shown(value, 'a.b.c.d.e.f')).not.toContain('other.x.y.z.deep')
  })

  it('reopens values that the user folded, and keeps values open that the user opened', ({ expect }) => {
    const value = { a: { b: 1 }, list: Array.from({ length: 300 }, () => 0) }
    const toggled = new Set(['/a', '/list'])
    expect(shown(value, 'a.b', toggled)).toEqual(expect.arrayContaining(['a.b', 'list.299']))
    expect([...toggled]).toEqual(['/a', '/list'])
  })

  it('finds names with dots in them', ({ expect }) => {
    const value = { a: { 'b.c': { 'd.e': { f: { 'g.h': { i: 1 } } } } } }
    expect(shown(value, 'a.b.c.d.e.f.g.h.i')).toContain('a.b.c.d.e.f.g.h.i')
  })

  it('finds a name even if another name is a prefix of it', ({ expect }) => {
    const value = { a: { x: 1 }, 'a.b': { c: { d: { e: { f: 1 } } } } }
    expect(shown(value, 'a.b.c.d.e.f')).toContain('a.b.c.d.e.f')
  })

  it('opens the existing part of a path that leads nowhere', ({ expect }) => {
    const value = { a: { b: 1 } }
    for (const path of ['', 'a.x', 'x', 'a.b.c', '.', 'a..b', 'toString', '__proto__.x']) {
      expect(shown(value, path), path).toEqual(['a', 'a.b'])
    }
  })

  it('distinguishes a name with a dot from two names', ({ expect }) => {
    const value = { 'a.b': { x: 1 }, a: { b: { y: 1 } } }
    expect(jsonRows(value, new Set(['/a.b'])).map(({ pointer }) => pointer)).toEqual(['/a.b', '/a', '/a/b', '/a/b/y'])
  })

  it('opens an item of a long list', ({ expect }) => {
    const value = { list: Array.from({ length: 1_000 }, (_, index) => ({ index })) }
    expect(shown(value, 'list.999.index')).toContain('list.999.index')
  })
})
