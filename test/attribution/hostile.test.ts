import { describe, expect, it } from 'vitest'
import { differenceOf, without } from '../../src/attribution/evidence/difference.ts'
import { findEvidence, searchEvidence } from '../../src/attribution/evidence/evidence.ts'
import { attributeByRules } from '../../src/attribution/rules/engine.ts'
import { TIE_ORDER } from '../../src/attribution/taxonomy.ts'
import { termsOf, termsOfValue } from '../../src/attribution/text/terms.ts'
import type { Json, JsonObject } from '../../src/domain/json.ts'
import type { Step, Subject } from '../../src/domain/subject.ts'
import { MAX_EVIDENCE_EFFORT, MAX_EVIDENCE_PATH_LENGTH, MAX_PART_EFFORT, MAX_TEXT_FACTS } from '../../src/limits.ts'
import { aDisagreement, aPrompt, type SubjectDraft } from '../support/disputed.ts'

/** A generator of numbers from 0 to 1 that repeats for the same seed (Mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const TEXTS: readonly string[] = [
  '',
  ' ',
  'a a a',
  '@@@@',
  'x@',
  'https://....',
  '"unclosed',
  '{{{[',
  `${'['.repeat(3000)}${']'.repeat(3000)}`,
  '{"a": {"b": [1, 2',
  '\ud800 lone \udfff',
  '5 May 2026, 31.02.2026, 令和8年5月3日, 99:99, 2026-13-45, 0000-00-00',
  '1,234.5 1.234,5 1 000 000 -0 1e308 NaN Infinity',
  `${'9'.repeat(400)} ${'1.'.repeat(300)}`,
  'Never say $&, (a+)+$ or \\u{110000} in more than 3 words.',
  'The rule: always answer in two sentences, never more than 20 words!',
  'Rückgabe innerhalb von 14 Tagen, höchstens 20 €',
  '返品は14日以内です。必ず3文以内で答える。',
  'Mixed ‮ right-to-left ٣٤٥ and ½ Ⅷ ㎏ ﬁ',
  'null',
  'error: rate limit 429',
]
const FIELDS = [
  'a',
  'total',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  '%',
  'a.b[0]',
  'tools',
  'rules',
]
const NUMBERS = [0, -0, 1, -1, 12.5, 1e308, -1e308, 5e-324, 2 ** 53, 429, 0.1]

function subjectFrom(seed: number): Subject {
  const next = numbersFrom(seed)
  const below = (count: number) => Math.floor(next() * count)
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item
  const isTrue = (share: number) => next() < share
  const json = (depth: number): Json => {
    const kind = depth === 0 ? below(4) : below(7)
    if (kind === 0) return one(TEXTS)
    if (kind === 1) return one(NUMBERS)
    if (kind === 2) return isTrue(0.5)
    if (kind === 3) return isTrue(0.5) ? null : `${one(TEXTS)} ${one(TEXTS)}`
    if (kind === 4) return Array.from({ length: below(5) }, () => json(depth - 1))
    return record(depth - 1)
  }
  // Parse JSON so that `__proto__` becomes an own property.
  const record = (depth: number): JsonObject =>
    Object.fromEntries(Array.from({ length: below(5) }, () => [one(FIELDS), json(depth)]))
  const nested = () =>
    Array.from({ length: below(127) }).reduce<Json>(value => (isTrue(0.5) ? [value] : { a: value }), 1)
  const value = () => (isTrue(0.05) ? nested() : json(3))
  const ids = ['root', 'one', 'two', 'three', 'two', 'missing']
  const steps = Array.from({ length: 1 + below(6) }, (_, index): Step => {
    const isRoot = index === 0
    const output = value()
    return {
      spanId: isRoot ? 'root' : one(ids),
      isRoot,
      parentSpanId: isRoot ? null : one(ids),
      stepId: one(['', ' ', 'answer', 'retrieve', 'constructor', '$&', ...TEXTS.slice(0, 4)]),
      timestamp: below(3) * 1000,
      durationMs: one([null, 0, 1e15]),
      status: one([null, 'ok', 'error'] as const),
      input: value(),
      output,
      hasOutput: isTrue(0.8),
      state: record(3),
      metadata: record(3),
      prompt: isTrue(0.5)
        ? aPrompt(
            `${one(TEXTS)}\n${one(TEXTS)}`,
            one([null, { $ref: '#/nowhere' }, { pattern: '(' }, { type: 5 }, { not: {} }]),
          )
        : null,
      review: isTrue(0.5)
        ? {
            state: one(['accepted', 'corrected'] as const),
            approvedOutput: value(),
            userId: 'ann',
            comment: one(TEXTS),
          }
        : null,
      precedents: isTrue(0.3) ? [{ spanId: 'past', state: 'accepted', approvedOutput: output, userId: 'bob' }] : [],
    }
  })
  return {
    receivedAt: 0,
    timestamp: 0,
    isCompleted: isTrue(0.5),
    steps,
    knowledgeDocs: Array.from({ length: below(4) }, () => ({
      slug: one(['a.b*', '(', '[x', 'constructor', 'returns']),
      title: one(TEXTS),
      content: one(TEXTS),
    })),
    feedback: Array.from({ length: below(4) }, () => ({
      spanId: one(ids),
      userId: one(['ann', 'bob']),
      rating: one([null, 'positive', 'negative', 0, 0.5, 1] as const),
      comment: one([null, ...TEXTS]),
      correction: isTrue(0.4) ? record(3) : null,
      source: one(['api', 'review'] as const),
    })),
    omitted: [],
  }
}

const NONE: ReadonlySet<string> = new Set()

function expectSound(subject: Subject, disabled: ReadonlySet<string> = NONE) {
  const answer = attributeByRules(subject, findEvidence(subject), disabled)
  const spans = new Set<string | null>([null, 'past', ...subject.steps.map(({ spanId }) => spanId)])
  const candidates = [answer, ...answer.alternatives]
  for (const { errorType, confidence } of candidates) {
    expect(confidence).toBeGreaterThanOrEqual(0)
    expect(confidence).toBeLessThanOrEqual(1)
    expect(TIE_ORDER).toContain(errorType)
    expect(disabled).not.toContain(errorType)
  }
  expect(new Set(candidates.map(({ errorType }) => errorType)).size).toBe(candidates.length)
  expect([null, ...subject.steps.map(({ spanId }) => spanId)]).toContain(answer.spanId)
  expect(answer.evidence.every(({ spanId }) => spans.has(spanId))).toBe(true)
  expect(answer.reasoning).not.toBe('')
  return answer
}

describe('a hostile trace', () => {
  it.for(Array.from({ length: 12 }, (_, index) => index))(
    'gets a valid answer, no matter what it contains: part %i',
    part => {
      const next = numbersFrom(part)
      for (let index = 0; index < 60; index++) {
        const seed = part * 1000 + index
        const disabled = new Set(TIE_ORDER.filter((_, place) => place > 0 && next() < 0.5))
        expect(() => expectSound(subjectFrom(seed), disabled), `seed ${seed}`).not.toThrow()
      }
    },
  )

  const LENGTH = 200_000
  const times = (count: number, write: (index: number) => string) => Array.from({ length: count }, (_, at) => write(at))
  const inAnswer = (output: Json, approved: Json, rest: object = {}): SubjectDraft => ({
    steps: { answer: { input: output, output, approved, ...rest } },
  })
  const ofFields = (count: number, write: (index: number) => [string, Json]) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => write(index)))

  // Without bounds, the comparison threw an error or took minutes in each of these cases. The suite's timeout catches
  // the slow cases.
  it.for<[string, SubjectDraft]>([
    ['an endless email address', inAnswer(`@ ${'a'.repeat(LENGTH)}`, 'fine')],
    ['a link made of dots', inAnswer(`https://${'.'.repeat(LENGTH)}x`, 'fine')],
    ['digits in a prompt', inAnswer('no', 'yes', { prompt: aPrompt(`a ${'1'.repeat(LENGTH)}`) })],
    ['open brackets', inAnswer('{'.repeat(LENGTH), { a: 1 })],
    ['nested brackets', inAnswer(`${'['.repeat(LENGTH / 2)}${']'.repeat(LENGTH / 2)}`, { a: 1 })],
    ['a list inside text', inAnswer(JSON.stringify(Array.from({ length: 30_000 }, (_, at) => at)), [1, 2, 'x'])],
    ['100,000 numbers in one text', inAnswer('1 '.repeat(LENGTH / 2), 'fine 12.5')],
    [
      '100,000 items',
      inAnswer(
        Array.from({ length: 100_000 }, (_, at) => at),
        [-1, -2.5],
      ),
    ],
    [
      'other items',
      inAnswer(
        times(9000, at => `row ${at}`),
        times(9000, at => `line ${at}`),
      ),
    ],
    [
      'other fields',
      inAnswer(
        ofFields(9000, at => [`a${at}`, at]),
        ofFields(9000, at => [`b${at}`, -at]),
      ),
    ],
    [
      'times of day',
      inAnswer({ n: 77.5, t: times(9000, at => `${10 + (at % 90)}:${10 + Math.floor(at / 90)}`) }, { n: 78.5 }),
    ],
    [
      'long names',
      inAnswer({ n: 7.5 }, { n: 8.5 }, { metadata: ofFields(9, at => [`${at}${'k'.repeat(20_000)}`, [1, 2]]) }),
    ],
    [
      'numbers that may be sums of others',
      inAnswer(
        ofFields(30, at => [`a${at}`, at + 0.25]),
        ofFields(30, at => [`a${at}`, at + 1000.75]),
        { input: times(4000, String).join('\n') },
      ),
    ],
    [
      'a correction that changes everything',
      {
        steps: { answer: { output: ofFields(9000, at => [`a${at}`, at]) } },
        feedback: [{ correction: ofFields(9000, at => [`b${at}`, at]) }],
      },
    ],
    [
      'passages from many docs',
      {
        steps: {
          retrieve: { output: times(3000, at => `Passage ${at} of a knowledge doc`) },
          answer: { output: 'no', approved: 'yes' },
        },
        docs: Object.fromEntries(times(1000, at => `(${at}`).map(slug => [slug, 'Some words '.repeat(300)])),
      },
    ],
    [
      'a chain of 400 spans',
      {
        steps: Object.fromEntries(
          times(400, String).map((id, at) => [
            id,
            {
              parentSpanId: at === 0 ? 'root' : String(at - 1),
              input: 'lost 4711 foo',
              output: `lost 4711 foo ${at}`,
              state: { a: `state ${at}`, b: 'x y 12' },
              ...(at === 399 && { approved: 'another 9999' }),
            },
          ]),
        ),
      },
    ],
  ])('is answered in time: %s', ([, draft]) => {
    const { reasoning, evidence } = expectSound(aDisagreement(draft))
    expect(reasoning.length + JSON.stringify(evidence).length).toBeLessThan(10_000)
  })

  const WORST = 250_000
  const filled = (write: (index: number) => string, separator = ' ', length = WORST) => {
    let text = ''
    for (let index = 0; text.length < length; index++) text += write(index) + separator
    return text
  }
  const spread = (index: number) => Math.imul(index, 0x9e3779b1) >>> 0
  const word = (index: number) =>
    spread(index)
      .toString(26)
      .replace(/\d/g, digit => 'qrstuvwxyz'.charAt(Number(digit)))
  const WRITERS: readonly [string, (index: number) => string][] = [
    ['words', word],
    ['numbers', index => String(spread(index) % 10_000_000)],
    ['amounts', index => `${spread(index) % 10_000}.${10 + (index % 90)} €`],
    ['dates', index => `20${10 + (index % 20)}-0${1 + (spread(index) % 9)}-${10 + (spread(index + 1) % 18)}`],
    ['times', index => `${10 + (spread(index) % 13)}:${10 + (index % 49)}`],
    ['identifiers', index => `ab${spread(index)}-x`],
    [
      'Chinese words',
      index => String.fromCharCode(...[0, 1, 2, 3].map(at => 0x4e00 + (spread(4 * index + at) % 8000))),
    ],
    ['rules', index => `Never say ${word(index)} in more than ${index} words.`],
  ]
  const SHAPES: readonly [string, (write: (index: number) => string) => SubjectDraft][] = [
    [
      'one long string',
      write => ({
        steps: {
          answer: {
            input: filled(write),
            output: filled(index => write(index + 1)),
            approved: filled(index => write(index + 7)),
          },
        },
      }),
    ],
    [
      'lines',
      write => ({
        steps: {
          answer: {
            input: filled(write, '\n'),
            output: filled(write, '\n'),
            approved: filled(index => write(index + 7), '\n'),
            state: { rules: filled(write, '\n') },
          },
        },
      }),
    ],
    [
      'many docs',
      write => ({
        steps: {
          retrieve: { output: times(200, at => filled(index => write(index + 50 * at), ' ', 400)) },
          answer: { output: filled(write, ' ', 20_000), approved: filled(index => write(index + 7), ' ', 20_000) },
        },
        docs: Object.fromEntries(
          times(1000, String).map((slug, at) => [slug, filled(index => write(index + 31 * at), ' ', 500)]),
        ),
      }),
    ],
    [
      'many spans and corrections',
      write => ({
        steps: Object.fromEntries(
          times(200, String).map((id, at) => [
            id,
            {
              input: filled(index => write(index + at), ' ', 800),
              output: { a: filled(index => write(index + 3 * at), ' ', 800) },
            },
          ]),
        ),
        feedback: times(300, String).map((userId, at) => ({
          userId,
          spanId: String(at % 200),
          comment: filled(write, ' ', 400),
          correction: { a: filled(index => write(index + 5 * at), ' ', 2000) },
        })),
      }),
    ],
  ]

  it.for(
    SHAPES.flatMap(([shape, draftOf]) =>
      WRITERS.map(([what, write]) => [`${shape} of ${what}`, draftOf(write)] as const),
    ),
  )('is searched with bounded effort: %s', ([, draft]) => {
    const subject = aDisagreement(draft)
    const effort = { spent: 0, until: MAX_EVIDENCE_EFFORT }
    let [seen, longest] = [0, 0]
    const search = searchEvidence(subject, effort)
    let part = search.next()
    for (; !part.done; part = search.next()) {
      longest = Math.max(longest, effort.spent - seen)
      seen = effort.spent
    }
    const findings = part.value
    expect(effort.spent).toBeLessThanOrEqual(MAX_EVIDENCE_EFFORT)
    // Other requests wait for at most one part, or one value.
    expect(longest).toBeLessThan(3 * MAX_PART_EFFORT)
    expect(findings.map(({ kind }) => kind)).toContain('error_origin')
    expect(findings.length).toBeLessThan(5000)
  })

  it('answers from partial evidence and says so if there is too much to compare', () => {
    const draft = {
      steps: {
        answer: {
          input: filled(String, '\n'),
          output: filled(at => String(7 * at)),
          approved: filled(at => String(11 * at)),
        },
      },
    }
    const { reasoning } = expectSound(aDisagreement(draft))
    expect(reasoning).toMatch(/Not checked: .*too much to compare/)
  })

  it.for<[string, string]>([
    ['very long words', `${'a'.repeat(500)} `.repeat(500)],
    ['very long words before an at sign', `${`${'a'.repeat(500)} `.repeat(500)}@`],
    ['endless punctuation', `${', '.repeat(WORST / 2)}x`],
    ['endless sentence-ending punctuation', `${'!?'.repeat(WORST / 2)}x`],
    ['empty lines', `Never use lists. ${'\n'.repeat(WORST)}x`],
    ['an endless scope', `handle ${'handle '.repeat(WORST / 7)}`],
    ['non-ASCII letters', 'é'.repeat(WORST)],
    ['a letter that normalizes to eighteen', '\ufdfa'.repeat(WORST / 3)],
  ])('does not make a regular expression backtrack for long: %s', ([, text]) => {
    const rest = { input: text, prompt: aPrompt(`Answer in 3 sentences. ${text}`), state: { rules: text } }
    expectSound(aDisagreement(inAnswer(text, `${text.slice(0, 1000)} 12.5`, rest)))
    expectSound(aDisagreement(inAnswer('fine 12.5', text, rest)))
  })

  it('yields no evidence with an overlong path', () => {
    const withinLongNames = (value: Json) =>
      Array.from({ length: 120 }).reduce<Json>(inner => ({ ['k'.repeat(256)]: inner, n: 1.5 }), value)
    const lists = withinLongNames(times(900, at => `ab${at} ${at}.5`))
    const amounts = withinLongNames(ofFields(900, at => [`f${at}`, at + 0.75]))
    const findings = findEvidence(aDisagreement(inAnswer(lists, amounts, { input: amounts, state: { lists } })))
    expect(findings.length).toBeGreaterThan(0)
    expect(Math.max(...findings.map(({ path }) => path.length))).toBeLessThan(2 * MAX_EVIDENCE_PATH_LENGTH)
  })

  it('reports values that are too long to search', () => {
    const { reasoning } = expectSound(aDisagreement(inAnswer(times(900, String), ['x'])))
    expect(reasoning).toContain('long values')
  })

  it('skips the schema check for an overlong output', () => {
    const outputSchema = { type: 'array', minItems: 900 }
    const draft = inAnswer(times(900, String), ['x'], { prompt: aPrompt('List all.', outputSchema) })
    expect(findEvidence(aDisagreement(draft)).map(({ kind }) => kind)).not.toContain('schema_broken')
  })
})

describe('a comparison', () => {
  it('counts a fact once, even if it can be read in several ways', () => {
    const { facts } = without(termsOf('1.234 and 5 and 5 and 7'), termsOf('1,234 or 5'))
    expect(facts.map(({ text }) => text)).toEqual(['5', '7'])
  })

  it('uses only the first ten thousand facts in each text', () => {
    expect(termsOfValue(['1 '.repeat(150_000), 'two 2']).facts).toHaveLength(MAX_TEXT_FACTS + 1)
  })

  it('ignores fields that every object inherits', () => {
    const { changes } = differenceOf({ constructor: 'x', total: 1 }, { total: 1 })
    expect(changes).toEqual([{ path: 'constructor', before: 'x', after: undefined }])
  })
})
