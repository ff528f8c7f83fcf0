import { describe, it } from 'vitest'
import { type Sharing, shareOut } from '../../src/domain/assignment.ts'

interface Span {
  id: string
  reviewers: number
  voters: string[]
  assigned: { userId: string; dueAt: number | null }[]
}

const aSpan = (id: string, assigned: readonly string[] = [], reviewers = 1, voters: string[] = []): Span => ({
  id,
  reviewers,
  voters,
  assigned: assigned.map(userId => ({ userId, dueAt: 7 })),
})

const share = (spans: readonly Span[], sharing: Partial<Sharing>) =>
  shareOut(spans, { userIds: ['ada', 'bob'], open: new Map(), maxOpen: 100, replace: false, ...sharing })

/** Changes as `<span> <before>→<after>`. */
const shown = ({ changes }: ReturnType<typeof share>) =>
  changes.map(({ span, before, after }) => `${span.id} ${before ?? '-'}→${after ?? '-'}`)

/** The spans after their changes. */
const apply = (spans: readonly Span[], { changes }: ReturnType<typeof share>): Span[] =>
  spans.map(span => {
    const own = changes.filter(change => change.span === span)
    const staying = span.assigned.filter(({ userId }) => !own.some(({ before }) => before === userId))
    const added = own.flatMap(({ after, dueAt }) => (after === null ? [] : [{ userId: after, dueAt }]))
    return { ...span, assigned: [...staying, ...added] }
  })

const CASES: [string, Span[], Partial<Sharing>, string[]][] = [
  [
    'takes turns, and begins with the person who is named first',
    ['1', '2', '3'].map(id => aSpan(id)),
    {},
    ['1 -→ada', '2 -→bob', '3 -→ada'],
  ],
  [
    'begins with the person who has the least to do',
    ['1', '2', '3'].map(id => aSpan(id)),
    { open: new Map([['ada', { total: 2, waiting: 2 }]]) },
    ['1 -→bob', '2 -→bob', '3 -→ada'],
  ],
  [
    'skips spans that a person has already voted on',
    [aSpan('1'), aSpan('2')],
    {
      open: new Map([
        ['ada', { total: 5, waiting: 0 }],
        ['bob', { total: 1, waiting: 1 }],
      ]),
    },
    ['1 -→ada', '2 -→ada'],
  ],
  [
    'assigns a span to as many different people as must review it',
    [aSpan('1', [], 2), aSpan('2', [], 3)],
    { userIds: ['ada', 'bob', 'cy'] },
    ['1 -→ada', '1 -→bob', '2 -→cy', '2 -→ada', '2 -→bob'],
  ],
  [
    'skips people who have voted, and counts their votes',
    [aSpan('1', [], 2, ['ada']), aSpan('2', ['cy'], 3, ['cy', 'dee'])],
    {},
    ['1 -→bob', '2 -→ada'],
  ],
  [
    'replaces nobody who has voted',
    [aSpan('1', ['cy'], 2, ['cy']), aSpan('2', ['cy'], 2, ['ada'])],
    { fromUserId: 'cy' },
    ['1 cy→-', '2 cy→bob'],
  ],
  ['assigns a span to everyone if there are too few people', [aSpan('1', [], 5)], {}, ['1 -→ada', '1 -→bob']],
  [
    'leaves alone spans that are assigned to enough people',
    [aSpan('1', ['cy']), aSpan('2', ['cy'], 2)],
    {},
    ['2 -→ada'],
  ],
  [
    'takes spans from other people if asked to',
    [aSpan('1', ['cy', 'bob']), aSpan('2', ['cy'])],
    { replace: true },
    ['1 cy→-', '2 cy→ada'],
  ],
  [
    "moves only one person's spans",
    [aSpan('1', ['cy']), aSpan('2', ['cy', 'ada'], 2), aSpan('3', ['cy', 'ada', 'bob'], 3)],
    { fromUserId: 'cy' },
    ['1 cy→ada', '2 cy→bob', '3 cy→-'],
  ],
  ['never moves a span back to the same person', [aSpan('1', ['ada'])], { fromUserId: 'ada' }, ['1 ada→bob']],
  ['ends all assignments if nobody is named', [aSpan('1', ['cy', 'ada'])], { userIds: [] }, ['1 cy→-', '1 ada→-']],
  ["ends one person's assignments", [aSpan('1', ['cy', 'ada'])], { userIds: [], fromUserId: 'cy' }, ['1 cy→-']],
  ['changes the due dates of the people named', [aSpan('1', ['ada', 'cy'])], { dueAt: 9 }, ['1 ada→ada']],
  ['leaves equal due dates unchanged', [aSpan('1', ['ada'])], { dueAt: 7 }, []],
  [
    'counts a repeated person once',
    ['1', '2'].map(id => aSpan(id)),
    { userIds: ['bob', 'bob', 'ada'] },
    ['1 -→bob', '2 -→ada'],
  ],
]

describe('assigning spans', () => {
  it.for(CASES)('%s, and changes nothing the second time', ([, spans, sharing, expected], { expect }) => {
    const first = share(spans, sharing)
    expect(shown(first)).toEqual(expected)
    expect(first.short).toBe(0)
    const again = apply(spans, first)
    const left =
      sharing.fromUserId === undefined
        ? again
        : again.filter(span => span.assigned.some(({ userId }) => userId === sharing.fromUserId))
    expect(shown(share(left, sharing))).toEqual([])
  })

  it('gives nobody more than the maximum, and leaves a span with its assignee if nobody can take it', ({ expect }) => {
    const spans = [aSpan('1'), aSpan('2', ['cy']), aSpan('3')]
    const open = new Map([
      ['ada', { total: 1, waiting: 0 }],
      ['bob', { total: 2, waiting: 0 }],
    ])
    const shares = share(spans, { open, maxOpen: 2, replace: true })
    expect(shown(shares)).toEqual(['1 -→ada'])
    expect(shares.short).toBe(2)
  })

  it('keeps the due date of a span that moves, unless a new one is given', ({ expect }) => {
    const dueOf = (dueAt: Sharing['dueAt']) =>
      share([aSpan('1', ['cy'])], { fromUserId: 'cy', dueAt }).changes.map(change => change.dueAt)
    expect([undefined, 9, null].map(dueOf)).toEqual([[7], [9], [null]])
  })
})
