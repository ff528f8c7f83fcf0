import { describe, it } from 'vitest'
import { foldedToShow, foundRows, spanTree, type TreeSpan, unfoldedRows } from '../../../src/ui/trace/span-tree.ts'

const BEGIN = Date.parse('2026-11-21T09:30:00.000Z')
const TRACE = { createdAt: new Date(BEGIN).toISOString(), durationMs: 100 }

const aSpan = (id: string, parentSpanId: string | null, startMs = 0, durationMs: number | null = 10): TreeSpan => ({
  id,
  parentSpanId,
  createdAt: new Date(BEGIN + startMs).toISOString(),
  durationMs,
})

const linesOf = (spans: readonly TreeSpan[]) =>
  spanTree(spans, TRACE).rows.map(({ span, depth }) => `${'>'.repeat(depth)}${span.id}`)

describe('spanTree', () => {
  it('puts each span after its parent, and siblings in the order of the spans', ({ expect }) => {
    const spans = [aSpan('root', null), aSpan('b', 'root'), aSpan('a', 'root'), aSpan('b1', 'b')]
    expect(linesOf(spans)).toEqual(['root', '>b', '>>b1', '>a'])
    expect(spanTree(spans, TRACE).rows.map(({ size, place, siblings }) => [size, place, siblings])).toEqual([
      [4, 1, 1],
      [2, 1, 2],
      [1, 1, 1],
      [1, 2, 2],
    ])
  })

  it('puts a span whose parent is missing under the root, along with its children', ({ expect }) => {
    const spans = [aSpan('root', null), aSpan('lost', 'nobody'), aSpan('child', 'lost')]
    expect(linesOf(spans)).toEqual(['root', '>lost', '>>child'])
    expect(spanTree(spans, TRACE).rows.map(({ isOrphan }) => isOrphan)).toEqual([false, true, false])
    expect(linesOf(spans.slice(1))).toEqual(['lost', '>child'])
  })

  it('contains every span once even if parents form cycles', ({ expect }) => {
    const spans = [aSpan('root', null), aSpan('a', 'c'), aSpan('b', 'a'), aSpan('c', 'b'), aSpan('self', 'self')]
    expect(linesOf(spans)).toEqual(['root', '>a', '>>b', '>>>c', '>self'])
    expect(linesOf(spans.slice(1))).toEqual(['a', '>b', '>>c', 'self'])
  })

  it('handles a chain of 10,000 spans', ({ expect }) => {
    const spans = Array.from({ length: 10_000 }, (_, index) => aSpan(`${index}`, index === 0 ? null : `${index - 1}`))
    expect(spanTree(spans, TRACE).rows.at(-1)).toMatchObject({ depth: 9_999, parent: 9_998 })
  })

  it('covers the time from the earliest start to the latest end, and gives the root the duration of its trace', ({
    expect,
  }) => {
    const { rows, begin, length } = spanTree([aSpan('root', null, 0, null), aSpan('early', 'root', -5)], TRACE)
    expect({ begin, length }).toEqual({ begin: BEGIN - 5, length: 105 })
    expect(rows.map(({ start, end }) => [start, end])).toEqual([
      [5, 105],
      [0, 10],
    ])
  })

  it('is empty if there are no spans', ({ expect }) => {
    expect(spanTree([], TRACE)).toMatchObject({ rows: [], begin: BEGIN, length: 1 })
  })
})

describe('the visible rows', () => {
  const tree = spanTree([aSpan('root', null), aSpan('a', 'root'), aSpan('a1', 'a'), aSpan('b', 'root')], TRACE)
  const idsOf = (rows: readonly { span: TreeSpan }[]) => rows.map(({ span }) => span.id)

  it('exclude rows under a folded row', ({ expect }) => {
    expect(idsOf(unfoldedRows(tree, new Set(['a'])))).toEqual(['root', 'a', 'b'])
    expect(idsOf(unfoldedRows(tree, new Set()))).toEqual(['root', 'a', 'a1', 'b'])
  })

  it('include matches and their ancestors', ({ expect }) => {
    const { rows, matches } = foundRows(tree, ({ id }) => id === 'a1')
    expect(idsOf(rows)).toEqual(['root', 'a', 'a1'])
    expect([...matches]).toEqual(['a1'])
  })

  it('include a span once its ancestors are open', ({ expect }) => {
    expect([...foldedToShow(tree, 'a1', new Set(['root', 'a', 'b']))]).toEqual(['b'])
  })
})
