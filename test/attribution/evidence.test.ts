import { describe, expect, it } from 'vitest'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import type { FindingKind } from '../../src/attribution/weights.ts'
import type { Json } from '../../src/domain/json.ts'
import { aDisagreement, aPrompt, type SubjectDraft } from '../support/disputed.ts'

const kindsIn = (draft: SubjectDraft) => findEvidence(aDisagreement(draft)).map(({ kind }) => kind)

const TOTAL = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }

/** For each signal, a disagreement that shows it and a nearly identical one that doesn't. */
const CHECKS: readonly [kind: FindingKind, seen: SubjectDraft, unseen: SubjectDraft][] = [
  [
    'schema_broken',
    { root: { output: { total: '1,310.00' }, approved: { total: 1310 }, prompt: aPrompt('Read the total.', TOTAL) } },
    { root: { output: { total: 1300 }, approved: { total: 1310 }, prompt: aPrompt('Read the total.', TOTAL) } },
  ],
  [
    'only_format_changed',
    { root: { output: { day: '03/04/2026' }, approved: { day: '2026-04-03' } } },
    { root: { output: { day: '03/05/2026' }, approved: { day: '2026-04-03' } } },
  ],
  [
    'only_added',
    { root: { output: { items: ['a1', 'b2'] }, approved: { items: ['a1', 'b2', 'c3'] } } },
    { root: { output: { items: ['a1', 'b2'] }, approved: { items: ['a1', 'd4', 'c3'] } } },
  ],
  [
    'unsupported_value_removed',
    {
      root: {
        input: 'Write to care@lumen.example or use the chat.',
        output: 'Write to care@lumen.example or call 0800 555 0142.',
        approved: 'Write to care@lumen.example.',
      },
    },
    {
      root: {
        input: 'Write to care@lumen.example or call 0800 555 0142.',
        output: 'Write to care@lumen.example or call 0800 555 0142.',
        approved: 'Write to care@lumen.example.',
      },
    },
  ],
  [
    'added_value_not_fetched',
    {
      root: { input: { question: 'How long is the warranty of a refurbished phone?' } },
      steps: {
        search: { output: [{ slug: 'warranty-new', text: 'New devices have a warranty of 24 months.' }] },
        answer: { output: 'The warranty is 24 months.', approved: 'The warranty is 365 days from delivery.' },
      },
      docs: {
        'warranty-new': 'New devices have a warranty of 24 months.',
        'warranty-refurb': 'Refurbished devices have a warranty of 365 days from delivery.',
      },
    },
    {
      root: { input: { question: 'How long is the warranty of a refurbished phone?' } },
      steps: {
        search: {
          output: [{ slug: 'warranty-refurb', text: 'Refurbished devices have a warranty of 365 days from delivery.' }],
        },
        answer: { output: 'The warranty is 24 months.', approved: 'The warranty is 365 days from delivery.' },
      },
      docs: { 'warranty-refurb': 'Refurbished devices have a warranty of 365 days from delivery.' },
    },
  ],
  [
    'pure_addition_not_found',
    { root: { input: 'A pipe burst.', output: { day: null }, approved: { day: '2026-01-17' } } },
    { root: { input: 'On 17 January 2026 a pipe burst.', output: { day: null }, approved: { day: '2026-01-17' } } },
  ],
  [
    'correction_computes',
    { root: { input: [84.5, 9.75, 140], output: { sum: 224.25 }, approved: { sum: 234.25 } } },
    { root: { input: [84.5, 9.75, 140], output: { sum: 234.25 }, approved: { sum: 224.25 } } },
  ],
  [
    'output_computes',
    {
      root: {
        input: 'net 2450.00 tax 465.50 total 2915.50',
        output: { net: 2450, tax: 465.5, total: 2915.5 },
        approved: { net: 2450, tax: 465.5, total: 2450 },
      },
    },
    {
      root: {
        input: 'net 2450.00 tax 465.50 total 2915.50',
        output: { net: 2450, tax: 465.5, total: 2450 },
        approved: { net: 2450, tax: 465.5, total: 2915.5 },
      },
    },
  ],
  [
    'input_does_not_add_up',
    {
      root: {
        input: 'a 420.00\nb 640.00\nc 250.00\nTOTAL 4,310.00',
        output: { total: 4310 },
        approved: { total: 1310 },
      },
    },
    {
      root: {
        input: 'a 420.00\nb 640.00\nc 250.00\nTOTAL 1,310.00',
        output: { total: 4310 },
        approved: { total: 1310 },
      },
    },
  ],
  [
    'input_slip',
    {
      root: { input: { temperature: 3.88 }, output: { level: 'cold' } },
      feedback: [{ rating: 'negative', comment: 'It read 38.8.' }],
    },
    {
      root: { input: { temperature: 3.88 }, output: { level: 'cold' } },
      feedback: [{ rating: 'negative', comment: 'It read 41.2.' }],
    },
  ],
  [
    'step_failed',
    {
      steps: {
        classify: {
          output: null,
          hasOutput: true,
          metadata: { error: 'no response within 30000 ms' },
          approved: { topic: 'billing' },
        },
      },
    },
    {
      steps: {
        classify: {
          output: { topic: 'general' },
          metadata: { attempts: 2, error: 'time-out', second_attempt: 'ok' },
          approved: { topic: 'billing' },
        },
      },
    },
  ],
  [
    'cut_off',
    {
      root: { output: 'It stops in the mid', metadata: { finish_reason: 'length' } },
      feedback: [{ rating: 'negative' }],
    },
    {
      root: { output: 'It stops in the mid', metadata: { finish_reason: 'stop' } },
      feedback: [{ rating: 'negative' }],
    },
  ],
  [
    'call_repeated',
    {
      steps: {
        first: { stepId: 'query', input: { sql: 'select 1' }, output: { error: 'no such column' } },
        second: { stepId: 'query', input: { sql: 'select 1' }, output: { error: 'no such column' } },
      },
      feedback: [{ rating: 'negative' }],
    },
    {
      steps: {
        first: { stepId: 'query', input: { sql: 'select 1' }, output: { error: 'no such column' } },
        second: { stepId: 'query', input: { sql: 'select 2' }, output: { rows: 3 } },
      },
      feedback: [{ rating: 'negative' }],
    },
  ],
  [
    'reviewers_disagree',
    {
      root: { output: { decision: 'keep' }, approved: { decision: 'remove' } },
      feedback: [{ userId: 'bob', rating: 'positive' }],
    },
    {
      root: { output: { decision: 'keep' }, approved: { decision: 'remove' } },
      feedback: [{ userId: 'ann', rating: 'positive' }],
    },
  ],
  [
    'precedent_contradicts',
    {
      root: {
        output: 'x',
        approved: 'y',
        precedents: [{ spanId: 'p', state: 'accepted', approvedOutput: 'x', userId: 'bob' }],
      },
    },
    {
      root: {
        output: 'x',
        approved: 'y',
        precedents: [{ spanId: 'p', state: 'corrected', approvedOutput: 'z', userId: 'bob' }],
      },
    },
  ],
]

describe('the evidence', () => {
  it.for(CHECKS)('includes %s only if the trace shows it', ([kind, seen, unseen]) => {
    expect({ seen: kindsIn(seen).includes(kind), unseen: kindsIn(unseen).includes(kind) }).toEqual({
      seen: true,
      unseen: false,
    })
  })

  const COMPUTED: ReadonlySet<string> = new Set(['correction_computes', 'output_computes', 'input_does_not_add_up'])
  const computedIn = (input: Json, amount: number, approved: number) =>
    kindsIn({ root: { input, output: { amount }, approved: { amount: approved } } }).filter(kind => COMPUTED.has(kind))

  it.for([
    ['a product', { qty: 12, price: 8.5 }, 100, 102],
    ['a total', [{ fee: 420.5 }, { fee: 640 }, { fee: 249.75 }], 1410.25, 1310.25],
    ['a difference in a sentence', 'Of the 1250 seats, 385 are taken.', 875, 865],
  ] as const)('includes an error in %s', ([, input, wrong, right]) => {
    expect(computedIn(input as never, wrong, right)).toEqual(['correction_computes'])
    expect(computedIn(input as never, right, wrong)).toEqual(['output_computes'])
  })

  it.for([
    ['scores', { hits: [{ score: 0.84 }, { score: 0.91 }, { score: 0.5 }] }, 2.5, 2.25],
    ['ids', { order_id: 4100, customerId: 250 }, 4300, 4350],
    ['ranks and versions', [{ rank: 12, version: 30 }], 300, 360],
    ['dates', 'Open from March 2024 to May 2025, and on 14 June 2026.', 4000, 4049],
    ['durations', { duration_ms: 1200, latency: 340 }, 1500, 1540],
    ['many small numbers', Array.from({ length: 40 }, (_, index) => index), 50, 60],
    ['numbers of different records', [{ qty: 125 }, { rooms: 18 }], 2000, 2250],
  ] as const)('doesn’t include an error if %s are related by chance', ([, input, wrong, right]) => {
    expect([...computedIn(input as never, wrong, right), ...computedIn(input as never, right, wrong)]).toEqual([])
  })

  it('names only locations that exist, and gives strengths between 0 and 1', () => {
    for (const [, draft] of CHECKS) {
      const subject = aDisagreement(draft)
      const spanIds = new Set([null, 'p', ...subject.steps.map(({ spanId }) => spanId)])
      for (const { spanId, path, note, strength } of findEvidence(subject)) {
        expect(spanIds).toContain(spanId)
        expect(path).toMatch(/^(input|output|approvedOutput|state|metadata|status|prompt|feedback|knowledgeDocs)/)
        expect(note).not.toBe('')
        expect(strength).toBeGreaterThan(0)
        expect(strength).toBeLessThanOrEqual(1)
      }
    }
  })

  it('is limited in size and reports omitted steps', () => {
    const steps = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`s${index}`, { output: `${index} ${'word '.repeat(8000)}` }]),
    )
    const found = findEvidence(aDisagreement({ steps, feedback: [{ spanId: 's29', rating: 'negative' }] }))
    expect(found.filter(({ kind }) => kind === 'left_out').map(({ note }) => note)).toEqual([
      '17 steps far from the disputed step',
    ])
  })
})

describe('a reviewer’s comment', () => {
  it('is evidence if there is no other objection', () => {
    const steps = { say: { output: 'It is 12 months.' } }
    const feedback = [{ spanId: 'say', source: 'review' as const, comment: 'Is that so?' }]
    expect(findEvidence(aDisagreement({ steps, feedback }))).toContainEqual(
      expect.objectContaining({ kind: 'error_origin', spanId: 'say' }),
    )
  })
})

describe('an error that spread through the trace', () => {
  const originOf = (draft: SubjectDraft) =>
    findEvidence(aDisagreement(draft)).find(({ kind }) => kind === 'error_origin')?.spanId

  it('is located in the step where its value first appeared', () => {
    const steps = {
      parse: { input: 'about 12 June', output: { day: '2026-06-11' } },
      book: { input: { day: '2026-06-11' }, output: { ok: true, day: '2026-06-11' } },
      say: { output: 'Booked for 11 June 2026.', approved: 'Booked for 12 June 2026.' },
    }
    expect(originOf({ root: { input: 'on 12 June 2026 please' }, steps })).toBe('parse')
  })

  it('is located in a step that had the right value in its input', () => {
    const steps = {
      load: { output: { paid: 49, owed: 12.5 } },
      say: { input: { order: 1 }, output: 'You owe 49.', approved: 'You owe 12.50.' },
    }
    expect(originOf({ steps })).toBe('say')
  })

  it('is followed through the agents’ messages to the first one with the value', () => {
    const said = (from: string, content: string) => ({ from, content })
    const [read, sum] = ['Table 2 lists 5504.80 for Elm Street.', 'Elm Street comes to 5504.80.']
    const steps = {
      plan: { output: 'The reader opens the report, the writer answers.' },
      reader: { input: { messages: [said('plan', 'Open it.')] }, output: read },
      adder: { input: { messages: [said('reader', read)] }, output: sum },
      writer: {
        input: { messages: [said('reader', read), said('adder', sum)] },
        output: '5504.80',
        approved: '6120.40',
      },
    }
    expect(originOf({ root: { input: 'How much is Elm Street?' }, steps })).toBe('reader')
  })

  it('is located in the step that used a superseded value although the right one was available', () => {
    const steps = {
      count: { output: 'First count: 5504.80' },
      recount: { output: 'After the recount: 6120.40' },
      report: { input: { for: 'audit' }, output: 'The total is 5504.80.', approved: 'The total is 6120.40.' },
    }
    expect(originOf({ steps })).toBe('report')
  })

  it('is never located in a step that a reviewer accepted', () => {
    const steps = {
      parse: {
        output: { day: '2026-06-11' },
        review: { state: 'accepted', approvedOutput: { day: '2026-06-11' }, userId: 'ann', comment: null },
      },
      say: { output: 'Booked for 11 June 2026.', approved: 'Booked for 12 June 2026.' },
    } as const
    expect(originOf({ steps })).toBe('say')
  })
})
