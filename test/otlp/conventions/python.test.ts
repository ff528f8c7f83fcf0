import { describe, it } from 'vitest'
import { MAX_JSON_DEPTH } from '../../../src/limits.ts'
import { isPrintedObject, pythonLiteral, withoutPrints } from '../../../src/otlp/reading/python.ts'

describe('a value that Python printed', () => {
  it.for([
    ["{'order': 7, 'paid': None, 'late': True}", { order: 7, paid: null, late: true }],
    ["['How long?', \"it's\"]", ['How long?', "it's"]],
    ["{'a': (1, -2.5, 1e3), 'b': {}, 'c': []}", { a: [1, -2.5, 1000], b: {}, c: [] }],
    ["{1: 'one',}", { '1': 'one' }],
    ["{'text': 'a\\n\\'b\\' \\x41\\u00e9\\U0001F600'}", { text: "a\n'b' Aé😀" }],
    ["{'__proto__': 1}", JSON.parse('{"__proto__":1}')],
    ['{"order": 7}', { order: 7 }],
    ["{'a': <Node object at 0x7f00>, 'b': <Color.RED: 'red'>}", { a: null, b: 'red' }],
    [
      "{'at': datetime.datetime(2026, 1, 15, 9, 5), 'on': date(2026, 1, 15)}",
      { at: '2026-01-15T09:05:00', on: '2026-01-15' },
    ],
    ["[UUID('7'), Point(1, 2), Order(id=7, note=None)]", ['7', 'Point(1, 2)', { id: 7 }]],
  ] as const)('%s is parsed', ([text, value], { expect }) => {
    expect(pythonLiteral(text)).toEqual(value)
  })

  it.for([
    'hello',
    "'quoted'",
    "{'a': 1} and more",
    '[Call(me)]',
    "['a', <b]",
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
    for (const part of ['A(b=', '<A: 1', "<A: '", '<a', '<->', "'a\\n', ", '{ ', '1,', "'", '   '])
      pythonLiteral(`[${part.repeat(2e5)}`)
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
] as const)('recognizes whether %s is a printed object: %s', ([text, isPrinted], { expect }) => {
  expect(isPrintedObject(text)).toBe(isPrinted)
})

describe('a value with printed objects', () => {
  it.for([
    [
      "ChatMessage(role=<MessageRole.USER: 'user'>, additional_kwargs={}, blocks=[TextBlock(block_type='text', text='hi')])",
      { role: 'user', additional_kwargs: {}, blocks: [{ block_type: 'text', text: 'hi' }] },
    ],
    [
      "Document(id=doc_1, content: 'Refunds', meta: {'source': 'terms.md'}, score: 1.5)",
      { id: 'doc_1', content: 'Refunds', meta: { source: 'terms.md' }, score: 1.5 },
    ],
    ["page_content='Refunds' metadata={'a': 1}", { page_content: 'Refunds', metadata: { a: 1 } }],
    ['Order(id=7, paid=True)', { id: 7, paid: true }],
    [
      ['{"a": 1}', '[note]'],
      [{ a: 1 }, '[note]'],
    ],
    [{ tool: "FunctionTool(name='get_order')", text: 'hi' }, { text: 'hi' }],
    [{ ctx: '<Context object at 0x7f00>', ev: "ToolCall(tool_kwargs={'a': 1})" }, { ev: { tool_kwargs: { a: 1 } } }],
    [{ response_gen: '<generator object>', response_txt: null, metadata: { a: 1 } }, undefined],
    ["PromptTemplate(template='{q}', text='hi')", undefined],
    ["StopEvent(result=AgentOutput(text='Cut off, u...", undefined],
    ['StartEvent()', undefined],
    ["Answer(text='see below", undefined],
    [
      { role: 'user', content: "Order(id=7, text='hi')" },
      { role: 'user', content: "Order(id=7, text='hi')" },
    ],
  ] as const)('%j becomes %j', ([value, plain], { expect }) => {
    expect(withoutPrints(JSON.parse(JSON.stringify(value)))).toEqual(plain)
  })
})
