import { describe, it } from 'vitest'
import { MAX_JSON_DEPTH } from '../../../src/limits.ts'
import { isPrintedObject, pythonLiteral } from '../../../src/otlp/reading/python.ts'

describe('a value that Python printed', () => {
  it.for([
    ["{'order': 7, 'paid': None, 'late': True}", { order: 7, paid: null, late: true }],
    ["['How long?', \"it's\"]", ['How long?', "it's"]],
    ["{'a': (1, -2.5, 1e3), 'b': {}, 'c': []}", { a: [1, -2.5, 1000], b: {}, c: [] }],
    ["{1: 'one',}", { '1': 'one' }],
    ["{'text': 'a\\n\\'b\\' \\x41\\u00e9\\U0001F600'}", { text: "a\n'b' Aé😀" }],
    ["{'__proto__': 1}", JSON.parse('{"__proto__":1}')],
    ['{"order": 7}', { order: 7 }],
  ] as const)('%s is parsed', ([text, value], { expect }) => {
    expect(pythonLiteral(text)).toEqual(value)
  })

  it.for([
    'hello',
    "'quoted'",
    "{'a': <Node object at 0x7f00>}",
    "{'a': 1} and more",
    "{'a': datetime(2026, 1, 1)}",
    "{'a': 1",
    "{'a' 1}",
    "['a' 'b']",
    "['\\ud800']",
    "{'a': inf}",
    "{{'a'}: 1}",
    '[What a day]',
  ])('%s stays a string', (text, { expect }) => {
    expect(pythonLiteral(text)).toBe(undefined)
  })

  it('stays a string if it is nested too deeply', ({ expect }) => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(pythonLiteral(nested(MAX_JSON_DEPTH))).not.toBe(undefined)
    expect(pythonLiteral(nested(MAX_JSON_DEPTH + 2))).toBe(undefined)
    expect(pythonLiteral('['.repeat(1e6))).toBe(undefined)
  })

  it('is read in one pass', ({ expect }) => {
    const start = performance.now()
    for (const part of ["'a\\n', ", '{ ', '1,', "'", '   ']) pythonLiteral(`[${part.repeat(2e5)}`)
    expect(performance.now() - start).toBeLessThan(2000)
  })
})

it.for([
  ['<NodeWithScore object at 0x7f00>', true],
  ["[ChatMessage(role='user', content='hi')]", true],
  ['<dspy.clients.lm.LM object at 0x7f0104faf090>', true],
  ["name='get_order' description='An order' env_vars=[]", true],
  ["StringSignature(question -> answer\n    instructions='Answer.'", true],
  ["x='1' and more", false],
  ['<b>bold</b>', false],
  ['Refunds (within 30 days)', false],
  ['answer', false],
] as const)('%s is a printed object: %s', ([text, isPrinted], { expect }) => {
  expect(isPrintedObject(text)).toBe(isPrinted)
})
