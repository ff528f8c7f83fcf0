import { describe, it } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import { INLINE_BYTES } from '../../src/limits.ts'
import { timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { newTrace } from '../support/trace.ts'

const SPAN_ID = '0a1b2c3d-0000-4000-8000-00000000000a'
const PARENT_ID = '0a1b2c3d-0000-4000-8000-00000000000b'
const large = (text: string) => `${'x'.repeat(2 * INLINE_BYTES)} ${text}`

describe('observations fold over a span’s given values:', () => {
  const input = (data: unknown) => ({ type: 'input', data })
  const output = (data: unknown) => ({ type: 'output', data })
  const state = (key: string, data: unknown) => ({ type: 'state', key, data })

  it.for([
    [
      'input objects merge, and observed fields take precedence',
      { input: { a: 1, b: 1 } },
      [input({ b: 2 }), input({ c: 3 })],
      { input: { a: 1, b: 2, c: 3 } },
    ],
    [
      'other inputs become a list that starts with the given input',
      { input: 'a' },
      [input({ b: 1 }), input(null)],
      { input: ['a', { b: 1 }, null] },
    ],
    ['a given null is not an input', { input: null }, [input({ a: 1 })], { input: { a: 1 } }],
    ['a missing input adds nothing', {}, [input({ a: 1 })], { input: { a: 1 } }],
    ['the observed output wins', { output: 'given' }, [output('observed')], { output: 'observed' }],
    ['the last observed output wins', { output: 'given' }, [output(1), output(2)], { output: 2 }],
    ['an observed null also wins', { output: 'given' }, [output(null)], { output: null }],
    [
      'the given output is used if none is observed',
      { output: 'given' },
      [input(1), state('a', 1)],
      { output: 'given' },
    ],
    [
      'state merges by key, and the last value wins',
      {},
      [state('a', 1), state('b', 1), state('a', 2)],
      { state: { a: 2, b: 1 } },
    ],
    [
      'large values fold like small ones',
      { input: { a: large('a') } },
      [input({ b: large('b') }), output(large('c'))],
      { input: { a: large('a'), b: large('b') }, output: large('c') },
    ],
  ] as const)('%s', async ([, given, observations, expected], { expect }) => {
    // The span's own values come first although its timestamp is later. The span may also arrive last.
    for (const arrival of ['first', 'last']) {
      const { step, observe, spanOf } = await newTrace()
      const send = () =>
        step({ span_id: SPAN_ID, input: undefined, output: undefined, ...given, timestamp: timeAfter(99) })
      if (arrival === 'first') await send()
      for (const [index, fields] of observations.entries()) {
        await observe({ span_id: SPAN_ID, timestamp: timeAfter(index), ...fields })
      }
      if (arrival === 'last') await send()
      expect(await spanOf(SPAN_ID)).toMatchObject(expected)
    }
  })

  it('an observation on one span does not affect others', async ({ expect }) => {
    const { step, observe, read, spanOf } = await newTrace()
    await step({ span_id: SPAN_ID, input: undefined, output: undefined })
    await step({ span_id: PARENT_ID, input: undefined, output: undefined, timestamp: timeAfter(1) })
    await observe({ span_id: SPAN_ID, ...output('mine') })
    await observe(output('the root’s'))
    expect((await read()).spans.map((span: { output: unknown }) => span.output)).toEqual(['the root’s', 'mine', null])
    expect((await spanOf(PARENT_ID)).output).toBeNull()
  })

  it('earlier observations and feedback join their span when it arrives', async ({ expect }) => {
    const { step, observe, give, read } = await newTrace()
    await observe({ span_id: SPAN_ID, ...input(large('early')) })
    await give({ span_id: SPAN_ID, comment: 'early' })
    expect((await read()).spans).toHaveLength(1)
    await step({ span_id: SPAN_ID, input: undefined })
    const { spans, feedback } = await read()
    expect(spans[1]).toMatchObject({ id: SPAN_ID, input: large('early') })
    expect(feedback).toMatchObject([{ spanId: SPAN_ID, content: 'early' }])
  })
})

describe('the etag of a span', () => {
  it.for([
    ['does not change when the same output is sent again', { output: 'a' }, 'stays'],
    [
      'does not change when only other fields are sent',
      { output: undefined, input: 2, metadata: { a: 1 }, status: 'error' },
      'stays',
    ],
    ['changes with a different output', { output: 'b' }, 'changes'],
    ['does not change when null is sent for the output', { output: null }, 'stays'],
    ['changes with null as an observed output', { type: 'output', data: null }, 'changes'],
    ['changes with a large output', { output: large('b') }, 'changes'],
    ['changes with an observed output', { type: 'output', data: 'b' }, 'changes'],
    ['does not change with an observed input', { type: 'input', data: 'b' }, 'stays'],
    ['does not change with an observed state', { type: 'state', key: 'output', data: 'b' }, 'stays'],
  ] as const)('%s', async ([, fields, what], { expect }) => {
    const { step, observe, spanOf } = await newTrace()
    await step({ span_id: SPAN_ID, output: 'a' })
    const { etag } = await spanOf(SPAN_ID)
    expect(etag).toMatch(/^"[!#-~]+"$/)
    await ('type' in fields ? observe : step)({ span_id: SPAN_ID, ...fields })
    const now = await spanOf(SPAN_ID)
    expect(now.etag === etag).toBe(what === 'stays')
  })

  it.for([
    ['does not change when the same large output is sent again, as in a retry', large('a'), 'stays'],
    ['changes with a large output that starts the same way', large('b'), 'changes'],
  ] as const)('%s', async ([, output, what], { expect }) => {
    const { step, spanOf } = await newTrace()
    await step({ span_id: SPAN_ID, output: large('a') })
    const { etag } = await spanOf(SPAN_ID)
    await step({ span_id: SPAN_ID, output })
    expect((await spanOf(SPAN_ID)).etag === etag).toBe(what === 'stays')
  })

  it('follows the observed output, even after the span is given a different output', async ({ expect }) => {
    const { step, observe, spanOf, read } = await newTrace()
    await step({ span_id: SPAN_ID, output: 'given' })
    const winning = { span_id: SPAN_ID, type: 'output', data: 'observed', observation_id: crypto.randomUUID() }
    await observe({ ...winning, timestamp: timeAfter(9) })
    const { etag } = await spanOf(SPAN_ID)
    await step({ span_id: SPAN_ID, output: 'given later' })
    await observe({ span_id: SPAN_ID, type: 'output', data: 'earlier', timestamp: timeAfter(1) })
    await observe({ ...winning, data: 'ignored', timestamp: timeAfter(99) })
    expect(await spanOf(SPAN_ID)).toMatchObject({ output: 'observed', etag })
    expect((await read()).spans[1].etag).toBe(etag)
  })

  it('also changes for the root', async ({ expect }) => {
    const { org, trace_id, step, span } = await newTrace()
    const span_id = await rootSpanUuid(org.project.id, trace_id)
    const etags = [(await span()).etag]
    for (const output of ['a', 'a', 'b']) {
      await step({ span_id, output })
      etags.push((await span()).etag)
    }
    expect(etags[1]).not.toBe(etags[0])
    expect(etags[2]).toBe(etags[1])
    expect(etags[3]).not.toBe(etags[2])
  })
})

describe('a span is reviewable if it has an output', () => {
  type Call = ['span' | 'observation', object]
  const given = (output?: unknown): Call => ['span', { output }]
  const observed = (data: unknown, type = 'output'): Call => ['observation', { type, data, key: 'a' }]

  it.for([
    ['given an output', [given('a')], 1],
    ['given a large output', [given(large('a'))], 1],
    ['given a false output', [given(false)], 1],
    ['given null', [given(null)], 0],
    ['given none', [given()], 0],
    ['given no output, then one', [given(), given('a')], 1],
    ['given an output, then none', [given('a'), given()], 1],
    ['given an output, then null', [given('a'), given(null)], 1],
    ['observed after the span arrived', [given(), observed('a')], 1],
    ['observed before the span arrived', [observed('a'), given()], 1],
    ['observed as a large value before the span arrived', [observed(large('a')), given()], 1],
    ['observed before the span arrived with a null output', [observed('a'), given(null)], 1],
    ['observed before the span arrived and was sent again', [observed('a'), given(), given()], 1],
    ['observed only as null, before the span arrived', [observed(null), given()], 0],
    ['observed only as null, after the span arrived', [given(), observed(null)], 0],
    ['observed as an input and a state', [observed('a', 'input'), given(), observed('a', 'state')], 0],
  ] as const)('%s', async ([, calls, hasOutput], { expect }) => {
    const { step, observe, id } = await newTrace()
    for (const [kind, fields] of calls) await (kind === 'span' ? step : observe)({ span_id: SPAN_ID, ...fields })
    const row = await stored
      .prepare('select s.has_output from spans s join traces t on t.key = s.trace_key where s.id = ? and t.id = ?')
      .bind(SPAN_ID, id)
      .first()
    expect(row?.has_output).toBe(hasOutput)
  })
})
