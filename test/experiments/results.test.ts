import { describe, it } from 'vitest'
import { newBench } from '../support/experiments.ts'

describe('results', () => {
  it('are judged', async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: 1 }, { expected: 'two words' }, { expected: 3 }])
    const [first = '', second = '', third = ''] = ids
    const { sendOutputs, items, report, finish } = await begin()
    expect(await report()).toMatchObject({ state: 'running', items: 3, pending: 3 })
    expect((await items()).items).toHaveLength(3)
    expect(await sendOutputs({ [first]: 1, [second]: 'other words' })).toEqual([201, 201])
    expect(await report()).toMatchObject({ state: 'running', items: 3, pending: 1, counts: { passed: 1, unjudged: 1 } })
    expect((await items('pending=true')).items.map(({ id }: { id: string }) => id)).toEqual([third])
    expect((await finish()).body).toMatchObject({ state: 'finished', pending: 0 })
    expect(await report()).toMatchObject({ state: 'finished', counts: { passed: 1, unjudged: 1, error: 1 } })
  })
})
