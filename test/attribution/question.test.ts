import { describe, it, vi } from 'vitest'
import type { Finding } from '../../src/attribution/finding.ts'
import * as question from '../../src/attribution/model/question.ts'
import type { Subject } from '../../src/domain/subject.ts'
import { atOnce } from '../../src/domain/turns.ts'
import {
  LENGTH_PER_TURN,
  MAX_PROJECT_ERROR_TYPES,
  MAX_PROMPT_FINDINGS,
  MAX_PROMPT_TOKENS,
  MAX_RULE_LENGTH,
} from '../../src/limits.ts'
import { tokensOf } from '../../src/model/quoted-text.ts'
import { aPrompt } from '../support/disputed.ts'
import { aFinding, aStep, aSubject, theErrorTypes } from '../support/model.ts'

/** A line of the material. */
interface Line {
  kind?: string
  span_id?: string
  /** A step's span that is only outlined. */
  outline?: string
  says?: string
  [field: string]: unknown
}

const writeQuestion = (...given: Parameters<typeof question.writeQuestion>) => atOnce(question.writeQuestion(...given))

/** The question, and the lines in its fence. */
async function written(subject: Subject, findings: readonly Finding[] = []) {
  const { instructions, material } = writeQuestion(subject, findings, await theErrorTypes(), 'the-boundary')
  const lines = material.split('\n')
  const inside = lines.slice(lines.indexOf('BEGIN the-boundary') + 1, lines.indexOf('END the-boundary'))
  const parsed: Line[] = inside.map(line => JSON.parse(line))
  const linesOf = (kind: string) => parsed.filter(line => line.kind === kind)
  const step = (label: string) => linesOf('step').find(({ span_id }) => span_id === label)
  const outlines = parsed.filter(({ outline }) => outline !== undefined)
  return { instructions, tokens: tokensOf(instructions) + tokensOf(material), linesOf, step, outlines }
}

/** A distinct string of about this many bytes. */
const longText = (name: string, bytes: number) => `${name} begins ${'lorem ipsum '.repeat(bytes / 12)} ${name} ends`

/**
 * A root with a chain of `count` steps, `s1` and so on, each with an input and an output of `bytes` bytes. The step
 * `focus` has feedback.
 */
function aLongTrace(count: number, bytes: number, focus: number): Subject {
  const steps = Array.from({ length: count }, (_, index) =>
    aStep({
      spanId: `s${index + 1}`,
      parentSpanId: 'root',
      stepId: `step-${index + 1}`,
      timestamp: Date.parse('2026-11-01T12:00:00Z') + index,
      input: { text: longText(`input ${index + 1}`, bytes) },
      output: longText(`output ${index + 1}`, bytes),
    }),
  )
  const [feedback] = aSubject().feedback
  return aSubject({
    steps: [aStep({ input: { question: 'Why?' } }), ...steps],
    knowledgeDocs: [],
    feedback: feedback ? [{ ...feedback, spanId: `s${focus}` }] : [],
  })
}

/** Tokens that model families' chat templates read as the end or the start of a message. */
const CONTROL_TOKENS: readonly [family: string, tokens: readonly string[]][] = [
  [
    'ChatML and Qwen',
    ['<|im_start|>', '<|im_end|>', '<|endoftext|>', '<tool_call>', '</tool_call>', '<think>', '</think>'],
  ],
  ['Llama 2', ['<s>', '</s>', '[INST]', '[/INST]', '<<SYS>>', '<</SYS>>']],
  [
    'Llama 3',
    ['<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>', '<|eom_id|>', '<|python_tag|>'],
  ],
  [
    'Mistral',
    [
      '[SYSTEM_PROMPT]',
      '[/SYSTEM_PROMPT]',
      '[AVAILABLE_TOOLS]',
      '[/AVAILABLE_TOOLS]',
      '[TOOL_CALLS]',
      '[TOOL_RESULTS]',
      '[/TOOL_RESULTS]',
      '[THINK]',
      '[ARGS]',
    ],
  ],
  [
    'Gemma',
    [
      '<start_of_turn>',
      '<end_of_turn>',
      '<bos>',
      '<eos>',
      '<pad>',
      '<start_of_image>',
      '<unused7>',
      '<|turn>',
      '<turn|>',
    ],
  ],
  ['Phi', ['<|system|>', '<|user|>', '<|assistant|>', '<|end|>']],
  ['DeepSeek', ['<｜begin▁of▁sentence｜>', '<｜User｜>', '<｜Assistant｜>', '<｜end▁of▁sentence｜>']],
  ['Granite', ['<|start_of_role|>', '<|end_of_role|>', '<|end_of_text|>', '<|tool_call|>']],
  ['GLM', ['[gMASK]', '<sop>', '<|observation|>', '<arg_key>']],
  ['EXAONE', ['[|system|]', '[|user|]', '[|assistant|]', '[|endofturn|]']],
  ['Nemotron and Seed', ['<SPECIAL_10>', '<extra_id_0>', '<seed:bos>', '<seed:eos>']],
  ['MiniMax', [']~!b[', ']~b]', '[e~[', '<minimax:tool_call>']],
  [
    'Command R',
    ['<BOS_TOKEN>', '<EOS_TOKEN>', '<|START_OF_TURN_TOKEN|>', '<|END_OF_TURN_TOKEN|>', '<|CHATBOT_TOKEN|>'],
  ],
  ['Harmony', ['<|start|>', '<|channel|>', '<|message|>', '<|return|>', '<|call|>', '<|constrain|>']],
]

describe('control tokens', () => {
  it.for(CONTROL_TOKENS)('never reach the model, yet the text reads the same: %s', async ([, tokens], { expect }) => {
    const text = tokens.map(token => `before ${token}after\\${token}`).join('\n')
    const subject = aSubject({
      steps: [
        aStep({
          stepId: text,
          input: { [text]: text },
          output: [text],
          state: { [text]: [text] },
          metadata: { text },
          prompt: { content: text, outputSchema: { title: text } },
          review: { state: 'corrected', approvedOutput: text, userId: 'ann', comment: text },
          precedents: [{ spanId: 'x', state: 'accepted', approvedOutput: text, userId: 'bob' }],
        }),
      ],
      knowledgeDocs: [{ slug: text, title: text, content: text }],
      feedback: [
        { spanId: 'root', userId: 'ann', rating: null, comment: text, correction: { [text]: text }, source: 'api' },
      ],
      omitted: [text],
    })
    const types = (await theErrorTypes()).map(type => ({ ...type, name: text, rule: text }))
    const { instructions, material } = writeQuestion(subject, [{ ...aFinding, path: text, note: text }], types)
    for (const token of tokens) {
      expect(material).not.toContain(token)
      expect(instructions).not.toContain(token)
    }
    const { step, linesOf } = await written(subject, [{ ...aFinding, note: text }])
    expect(step('root')).toMatchObject({ step_id: text, input: { [text]: text }, output: [text], approvedOutput: text })
    expect(linesOf('finding')).toMatchObject([{ note: text }])
    expect(linesOf('knowledge_doc')).toMatchObject([{ content: text }])
    expect(linesOf('left_out')).toMatchObject([{ what: [text] }])
  })

  it('are the only text that is escaped', async ({ expect }) => {
    const text =
      'if a < b && c[0] > d[i] then <b>bold</b> [see note] [1] <br/> x << 2 | y, <Total>, user@x.com <me@x.com>'
    const { material } = writeQuestion(
      aSubject({ steps: [aStep({ output: [text, null, true] })] }),
      [],
      await theErrorTypes(),
    )
    expect(material).toContain(JSON.stringify([text, null, true]))
  })
})

describe('the question', () => {
  it('contains the taxonomy with its rules, and the order that breaks ties', async ({ expect }) => {
    const { instructions } = await written(aSubject())
    for (const { errorType, name, category, rule } of await theErrorTypes()) {
      expect(instructions).toContain(`- ${errorType} (${name}, ${category}): ${rule}`)
    }
    expect(instructions).toContain(
      'system_failure, output_format_violation, missing_input_information, incorrect_input_data, outdated_reference, ' +
        "reviewer_mistake, then the others in the table's order",
    )
  })

  it('says which step to blame', async ({ expect }) => {
    const { instructions } = await written(aSubject())
    const text = instructions.replace(/\s+/g, ' ')
    expect(text).toContain(
      'span_id: the earliest step whose output would have had to differ; for a User Error or a Human Error, the first ' +
        'step whose output was disputed.',
    )
    expect(text).toContain(
      'null for unsupported_request, if the step that is missing never ran, and if the trace is only a root.',
    )
  })

  it('leaves out disabled types, and keeps each custom type on one line', async ({ expect }) => {
    const own = {
      errorType: 'stale_price',
      id: 'x',
      name: 'Stale price',
      category: 'Human Error' as const,
      rule: 'The list\nwas old.',
    }
    const { instructions } = writeQuestion(aSubject(), [], [own], 'the-boundary')
    expect(instructions).toContain('- stale_price (Stale price, Human Error): The list was old.\n')
    expect(instructions).not.toContain('reviewer_mistake')
  })

  it('shows a small trace in full, with the checks’ findings', async ({ expect }) => {
    const subject = aSubject()
    const { linesOf, step, outlines } = await written(subject, [aFinding])
    expect([...linesOf('left_out'), ...outlines]).toEqual([])
    expect(linesOf('feedback')).toMatchObject([{ span_id: 'root', rating: 'negative', comment: 'Twice that.' }])
    expect(linesOf('finding')).toMatchObject([{ found: 'added_value_in_context', span_id: 's2', note: aFinding.note }])
    expect(linesOf('step')).toHaveLength(3)
    expect(step('s2')).toMatchObject({
      parent_span_id: 'root',
      step_id: 'write',
      output: { answer: 'It is 12 months.' },
      approvedOutput: { answer: 'It is 24 months.' },
      review: { state: 'corrected' },
    })
    expect(linesOf('prompt')).toMatchObject([{ step_id: 'write', content: 'Answer from the retrieved chunks only.' }])
    expect(linesOf('knowledge_doc')).toMatchObject([{ slug: 'warranty', content: subject.knowledgeDocs[0]?.content }])
  })

  it('replaces each person with a number', async ({ expect }) => {
    const review = { state: 'corrected', approvedOutput: 1, userId: 'ann@example.com', comment: null } as const
    const precedents = [
      { spanId: 'x', state: 'accepted', approvedOutput: 2, userId: 'ann@example.com' },
      { spanId: 'y', state: 'accepted', approvedOutput: 1, userId: 'bob' },
    ] as const
    const { step, linesOf } = await written(aSubject({ steps: [aStep({ review, precedents: [...precedents] })] }))
    expect(JSON.stringify([linesOf('step'), linesOf('feedback')])).not.toMatch(/example\.com|"ann"|bob/)
    expect(step('root')).toMatchObject({
      review: { by: 'person 2' },
      precedents: [{ by: 'person 2' }, { by: 'person 3' }],
    })
  })

  it('shows a prompt once, even if many steps used it', async ({ expect }) => {
    const prompt = { content: 'Sum up.', outputSchema: { type: 'string' } }
    const steps = [1, 2, 3].map(number => aStep({ spanId: `s${number}`, parentSpanId: 'root', stepId: 'sum', prompt }))
    const { linesOf } = await written(aSubject({ steps: [aStep(), ...steps] }))
    expect(linesOf('prompt')).toMatchObject([{ step_id: 'sum', content: 'Sum up.', outputSchema: { type: 'string' } }])
  })

  it.for([
    ['400 steps of 20 KB', 400, 10_000],
    ['50 steps of 4 KB', 50, 2000],
    ['400 steps of a few bytes', 400, 12],
    ['3 steps of 1 MB', 3, 500_000],
  ] as const)(
    'fits, with every step, and with the blamed step in full if possible: %s',
    async ([, count, bytes], { expect }) => {
      const focus = count - 1
      const { tokens, step, linesOf, outlines } = await written(aLongTrace(count, bytes, focus))
      expect(tokens).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
      expect(tokens).toBeGreaterThan(MAX_PROMPT_TOKENS * 0.6)
      const shown = (label: string) => JSON.stringify(step(label) ?? '').length
      expect(shown(`s${focus}`)).toBeGreaterThan(Math.min(2 * bytes, 2000))
      expect(shown(`s${focus - 1}`)).toBeGreaterThanOrEqual(shown('s1'))
      expect(linesOf('step').length + outlines.length).toBe(count + 1)
      if (count > 3) expect(linesOf('left_out')[0]?.what).toEqual(expect.arrayContaining([expect.any(String)]))
    },
  )

  it.for([
    ['the first', 1],
    ['one in the middle', 71],
    ['the last', 130],
  ] as const)(
    'quotes every message in a long conversation, and %s in full if it is suspicious',
    async ([, decisive], { expect }) => {
      const said = (number: number) => longText(`message ${number}`, 3000 + ((number * 97) % 2000))
      const steps = Array.from({ length: 130 }, (_, index) =>
        aStep({
          spanId: crypto.randomUUID(),
          parentSpanId: 'root',
          stepId: index % 3 === 0 ? 'orchestrator' : 'web_surfer',
          output: { role: 'assistant', name: `Agent ${index % 3}`, content: said(index + 1) },
        }),
      )
      const [feedback] = aSubject().feedback
      const subject = aSubject({
        steps: [aStep({ input: 'Which year?', output: '1987' }), ...steps],
        knowledgeDocs: [],
        feedback: feedback ? [{ ...feedback, correction: { output: '1986' } }] : [],
      })
      const findings = [{ ...aFinding, spanId: steps[decisive - 1]?.spanId ?? null, path: 'output.content' }]
      const { tokens, step, outlines } = await written(subject, findings)
      expect(tokens).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
      expect(step('root')).toMatchObject({ input: 'Which year?', output: '1987' })
      expect(step(`s${decisive}`)?.output).toMatchObject({ content: said(decisive) })
      for (const number of steps.keys()) {
        if (step(`s${number + 1}`)) continue
        expect(outlines.find(({ outline }) => outline === `s${number + 1}`)).toMatchObject({
          step: number % 3 === 0 ? 'orchestrator' : 'web_surfer',
          by: `Agent ${number % 3}`,
          says: expect.stringMatching(new RegExp(`^message ${number + 1} begins lorem .*message ${number + 1} ends$`)),
        })
      }
      // The last messages are not just outlined, because the answer follows from them.
      for (const label of ['s126', 's127', 's128', 's129', 's130']) expect(step(label)).toBeDefined()
    },
  )

  it('outlines as many steps as fit if their names are long', async ({ expect }) => {
    const trace = aLongTrace(400, 100, 399)
    const steps = trace.steps.map(each => ({ ...each, stepId: `${each.stepId} ${'名'.repeat(80)}` }))
    const { tokens, step, outlines, linesOf } = await written({ ...trace, steps })
    expect(tokens).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
    expect(step('s399')).toBeDefined()
    expect(outlines.length).toBeGreaterThan(100)
    for (const { step } of outlines) expect(String(step)).toMatch(/^step-\d+ 名{18,19}$/)
    expect(linesOf('left_out')[0]?.what).toContainEqual(expect.stringMatching(/^\d+ more lines that are less/))
  })

  it('fits even if JSON escapes make a value much longer', async ({ expect }) => {
    const long = ['\u0001', '"', '\\', '\u2028', '<|', '愛', '\ud800'].map(text => text.repeat(100_000))
    const { tokens, step } = await written(aSubject({ steps: [aStep({ input: long.join(''), output: long })] }))
    expect(tokens).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
    expect(step('root')?.input).toEqual({ cut: expect.any(String), bytes: expect.any(Number) })
  })

  it('shows the beginning and the end of a value that is too long', async ({ expect }) => {
    const { step, linesOf } = await written(aLongTrace(3, 500_000, 1))
    expect(step('s1')?.output).toEqual({
      cut: expect.stringMatching(/^output 1 begins lorem .* \[\.\.\.\] .* output 1 ends$/s),
      bytes: expect.any(Number),
    })
    expect(linesOf('left_out')).toEqual([
      { kind: 'left_out', what: [expect.stringMatching(/^parts of long values in/)] },
    ])
  })

  it('reports parts that were left out and parts that never arrived', async ({ expect }) => {
    const findings = Array.from({ length: MAX_PROMPT_FINDINGS + 7 }, (_, index) => ({
      ...aFinding,
      note: `finding ${index}`,
      strength: (index + 1) / 100,
    }))
    const { linesOf } = await written({ ...aLongTrace(300, 10_000, 200), omitted: ['9,600 of 10,000 spans'] }, findings)
    expect(linesOf('finding').map(({ strength }) => strength)).not.toContain(0.07)
    expect(linesOf('left_out')[0]?.what).toEqual([
      '9,600 of 10,000 spans',
      expect.stringMatching(/^parts of long values in \d+ lines$/),
      expect.stringMatching(/^everything but a quote of the output in \d+ steps$/),
      '7 weaker findings',
    ])
  })

  it('is written in small steps if the trace is large', async ({ expect }) => {
    const write = vi.spyOn(JSON, 'stringify')
    const prompts = aPrompt('word '.repeat(50_000))
    const trace = aLongTrace(400, 5000, 200)
    const steps = trace.steps.map(step => ({ ...step, prompt: prompts }))
    const work = question.writeQuestion({ ...trace, steps }, [], await theErrorTypes())
    let longest = 0
    for (let isDone = false; !isDone; write.mockClear()) {
      isDone = work.next().done === true
      const written = write.mock.results.map(({ value }) => String(value).length)
      longest = Math.max(
        longest,
        written.reduce((sum, length) => sum + length, 0),
      )
    }
    write.mockRestore()
    expect(longest).toBeLessThan(8 * LENGTH_PER_TURN)
  })

  it('terminates for spans that are their own ancestors', async ({ expect }) => {
    const steps = [
      aStep(),
      aStep({ spanId: 'a', parentSpanId: 'b', review: null }),
      aStep({ spanId: 'b', parentSpanId: 'a' }),
    ]
    const { linesOf } = await written(aSubject({ steps }), [{ ...aFinding, spanId: 'a' }])
    expect(linesOf('step')).toHaveLength(3)
  })

  it('leaves room for the disagreement, even with many custom error types', async ({ expect }) => {
    const own = Array.from({ length: MAX_PROJECT_ERROR_TYPES }, (_, index) => ({
      errorType: `own_${index}`,
      id: crypto.randomUUID(),
      name: 'Own',
      category: 'AI Error' as const,
      rule: '返'.repeat(MAX_RULE_LENGTH),
    }))
    const types = [...(await theErrorTypes()), ...own]
    const { instructions, material } = writeQuestion(aLongTrace(3, 100, 1), [], types)
    expect(tokensOf(instructions) + tokensOf(material)).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
    for (const { errorType } of types) expect(instructions).toContain(`- ${errorType} (`)
    expect(material).toContain('output 1 begins')
  })
})
