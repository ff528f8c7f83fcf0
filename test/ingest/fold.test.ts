import { describe, it } from 'vitest'
import { INLINE_BYTES } from '../../src/limits.ts'
import { timeAfter } from '../support/builders.ts'
import { newTrace } from '../support/trace.ts'

describe('observations fold into their span', () => {
  it.for([
    ['objects merge', [{ a: 1, b: 1 }, { b: 2 }], { a: 1, b: 2 }],
    ['a single value stays unchanged', ['question'], 'question'],
    ['mixed values become a list', [{ a: 1 }, 'text', null], [{ a: 1 }, 'text', null]],
  ] as const)('inputs: %s', async ([, inputs, expected], { expect }) => {
    const { observe, span } = await newTrace()
    for (const [index, data] of inputs.entries()) await observe({ type: 'input', data, timestamp: timeAfter(index) })
    expect((await span()).input).toEqual(expected)
  })

  it('the value with the latest timestamp wins, in any order of arrival', async ({ expect }) => {
    const { observe, span } = await newTrace()
    await observe({ type: 'output', data: 'late', timestamp: timeAfter(10) })
    await observe({ type: 'output', data: 'early', timestamp: timeAfter(1) })
    await observe({ type: 'state', key: 'config', data: 2, timestamp: timeAfter(10) })
    await observe({ type: 'state', key: 'config', data: 1, timestamp: timeAfter(1) })
    await observe({ type: 'state', key: '__proto__', data: 3 })
    const { output, state } = await span()
    expect(output).toBe('late')
    expect(JSON.stringify(state)).toBe('{"__proto__":3,"config":2}')
  })

  it('a span without observations has no input or output', async ({ expect }) => {
    const { span } = await newTrace()
    expect(await span()).toMatchObject({ input: null, output: null, approvedOutput: null, state: {} })
  })

  it('many values are returned in order', async ({ expect }) => {
    const { observe, span } = await newTrace()
    const inputs = Array.from({ length: 60 }, (_, index) =>
      String(index).padEnd(index % 5 === 0 ? INLINE_BYTES * 2 : 5, '.'),
    )
    for (const [index, data] of inputs.entries()) await observe({ type: 'input', data, timestamp: timeAfter(index) })
    expect((await span()).input).toEqual(inputs)
  })
})
