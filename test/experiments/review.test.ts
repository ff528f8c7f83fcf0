import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { INLINE_BYTES } from '../../src/limits.ts'
import { type Bench, newBench, newStep } from '../support/experiments.ts'
import { reviewerOf } from '../support/reviews.ts'

/** The dataset's current expected values for an item. */
const expectedOf = async ({ org, datasetId }: Bench, itemId: string) =>
  (await org.read.get(`/api/datasets/${datasetId}/items`)).body.items.find(({ id }: { id: string }) => id === itemId)
    .expected

describe('accepting an output', () => {
  it('makes it pass, in this experiment and in later ones', async ({ expect }) => {
    const bench = await newBench([{ expected: 'two words' }, { expected: 1 }])
    const [itemId = ''] = bench.ids
    const before = await bench.begin()
    const other = await bench.begin()
    await before.sendOutputs({ [itemId]: 'the same in other words' })
    const reviewed = await before.review(itemId, 'accept', { comment: 'Says the same thing.' })
    expect(reviewed).toMatchObject({
      status: 200,
      body: {
        itemId,
        outcome: 'passed',
        change: null,
        review: { decision: 'accept', comment: 'Says the same thing.', by: expect.any(String), at: expect.any(String) },
      },
    })
    expect(await before.report()).toMatchObject({ counts: { passed: 1, unjudged: 0 } })
    expect((await before.items('outcome=passed')).items).toMatchObject([
      { id: itemId, expected: ['two words'], review: reviewed.body.review },
    ])
    expect(await expectedOf(bench, itemId)).toEqual(['two words', 'the same in other words'])
    // This experiment's version is older than the alternative.
    await other.sendOutputs({ [itemId]: 'the same in other words' })
    expect(await other.report()).toMatchObject({ counts: { passed: 0, unjudged: 1 } })
    const after = await bench.begin()
    await after.sendOutputs({ [itemId]: 'the same in OTHER  words' })
    expect(await after.report()).toMatchObject({ counts: { passed: 1, unjudged: 0 } })
    expect((await after.items('outcome=passed')).items).toMatchObject([
      { expected: ['two words', 'the same in other words'] },
    ])
  })

  it('again adds nothing', async ({ expect }) => {
    const bench = await newBench([{ expected: 'two words' }, { expected: 1 }])
    const [itemId = ''] = bench.ids
    const { sendOutputs, review } = await bench.begin()
    const output = 'long text '.repeat(INLINE_BYTES)
    await sendOutputs({ [itemId]: output })
    await review(itemId, 'accept')
    const once = await expectedOf(bench, itemId)
    expect(once).toEqual(['two words', output])
    await review(itemId, 'accept', { comment: 'Yes' })
    expect(await expectedOf(bench, itemId)).toEqual(once)
    const { objects } = await env.PAYLOADS.list({ prefix: `${bench.org.id}/imports/` })
    expect(objects).toHaveLength(1)
  })

  it('compares the result with the baseline again', async ({ expect }) => {
    const bench = await newBench()
    const accepted = await newStep(bench.org, { output: 'right as it is' })
    const corrected = await newStep(bench.org, { output: 'wrong as it is' })
    await accepted.review({ decision: 'accept' })
    await corrected.review({ decision: 'correct', approvedOutput: 'right as corrected' })
    const { sendOutputs, review, report, itemIds } = await bench.begin()
    await sendOutputs({ [accepted.spanId]: 'quite another', [corrected.spanId]: 'quite another' })
    expect(await report()).toMatchObject({ state: 'finished', counts: { unjudged: 2, regressed: 0, fixed: 0 } })
    expect((await review(corrected.spanId, 'accept')).body).toMatchObject({ change: 'fixed' })
    expect((await review(accepted.spanId, 'reject')).body).toMatchObject({ outcome: 'failed', change: 'regressed' })
    expect(await report()).toMatchObject({
      counts: { passed: 1, failed: 1, unjudged: 0, error: 0, fixed: 1, regressed: 1, stillRight: 0, stillWrong: 0 },
      passRate: 0.5,
    })
    expect(await itemIds('change=regressed')).toEqual([accepted.spanId])
    await review(accepted.spanId, 'accept')
    await review(corrected.spanId, 'reject')
    expect(await report()).toMatchObject({
      counts: { passed: 1, failed: 1, unjudged: 0, error: 0, fixed: 0, regressed: 0, stillRight: 1, stillWrong: 1 },
    })
  })

  it('lasts until the next decision on the span', async ({ expect }) => {
    const bench = await newBench()
    const { spanId, review: decide } = await newStep(bench.org, { output: 'some words' })
    await decide({ decision: 'accept' })
    const first = await bench.begin()
    await first.sendOutputs({ [spanId]: 'other words' })
    await first.review(spanId, 'accept')
    expect(await expectedOf(bench, spanId)).toEqual(['some words', 'other words'])
    await decide({ decision: 'correct', approvedOutput: 'some better words' })
    expect(await expectedOf(bench, spanId)).toEqual(['some better words'])
    expect(await first.report()).toMatchObject({ counts: { passed: 1 } })
    // The output was compared with the previous decision.
    await first.review(spanId, 'accept')
    expect(await expectedOf(bench, spanId)).toEqual(['some better words'])
  })
})

describe('rejecting an output', () => {
  it('makes this result fail and changes nothing else', async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }])
    const [itemId = ''] = bench.ids
    const { sendOutputs, review, report } = await bench.begin()
    const other = await bench.begin()
    await sendOutputs({ [itemId]: 1 })
    await other.sendOutputs({ [itemId]: 1 })
    const { version } = (await bench.org.read.get(`/api/datasets/${bench.datasetId}/items`)).body
    expect((await review(itemId, 'reject', { comment: 'By luck' })).body).toMatchObject({
      outcome: 'failed',
      review: { decision: 'reject', comment: 'By luck' },
    })
    expect(await report()).toMatchObject({ counts: { passed: 0, failed: 1 }, passRate: 0 })
    expect(await other.report()).toMatchObject({ counts: { passed: 1, failed: 0 } })
    expect(await expectedOf(bench, itemId)).toEqual([1])
    expect((await bench.org.read.get(`/api/datasets/${bench.datasetId}/items`)).body.version).toBe(version)
  })

  it('after accepting it removes the alternative, but only the one from this experiment', async ({ expect }) => {
    const bench = await newBench([{ expected: 'two words' }])
    const [itemId = ''] = bench.ids
    const first = await bench.begin()
    const second = await bench.begin()
    await first.sendOutputs({ [itemId]: 'first text' })
    await second.sendOutputs({ [itemId]: 'second text' })
    await first.review(itemId, 'accept')
    await second.review(itemId, 'accept')
    expect(await expectedOf(bench, itemId)).toEqual(['two words', 'first text', 'second text'])
    await first.review(itemId, 'reject')
    expect(await expectedOf(bench, itemId)).toEqual(['two words', 'second text'])
    expect(await first.report()).toMatchObject({ counts: { passed: 0, failed: 1 } })
    expect(await second.report()).toMatchObject({ counts: { passed: 1, failed: 0 } })
    const later = await bench.begin()
    await later.sendOutputs({ [itemId]: 'first text' })
    expect(await later.report()).toMatchObject({ counts: { unjudged: 1 } })
  })
})

describe('a decision on an output', () => {
  it('counts if it is the latest one, even if several people decide at the same time', async ({ expect }) => {
    const bench = await newBench([
      { expected: 'some words', split: 'test' },
      { expected: 'more words', split: 'test' },
      { expected: 'and some more', split: 'train' },
    ])
    const { sendOutputs, review, report } = await bench.begin()
    await sendOutputs(Object.fromEntries(bench.ids.map(id => [id, 'quite another'])))
    expect(await report()).toMatchObject({ state: 'finished', counts: { unjudged: 3 } })
    const answers = await Promise.all(bench.ids.map((id, index) => review(id, index === 1 ? 'reject' : 'accept')))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await report()).toMatchObject({
      counts: { passed: 2, failed: 1, unjudged: 0 },
      splits: [
        { split: 'test', counts: { passed: 1, failed: 1 } },
        { split: 'train', counts: { passed: 1, failed: 0 } },
      ],
    })
  })

  it('and its opposite at the same time leave an alternative only if the acceptance wins', async ({ expect }) => {
    const bench = await newBench([{ expected: 'some words' }])
    const [itemId = ''] = bench.ids
    for (let round = 0; round < 5; round++) {
      const { sendOutputs, review, items } = await bench.begin()
      const output = `other words ${round}`
      await sendOutputs({ [itemId]: output })
      await Promise.all([review(itemId, 'accept'), review(itemId, 'reject'), review(itemId, 'accept')])
      const [{ outcome }] = (await items()).items
      expect((await expectedOf(bench, itemId)).includes(output)).toBe(outcome === 'passed')
    }
  })

  it('needs an output', async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: 1 }, { expected: 2 }])
    const [failed = '', pending = ''] = ids
    const { send, review, finish } = await begin()
    await send({ itemId: failed, error: 'Broke' })
    expect(await review(failed, 'accept')).toMatchObject({ status: 422 })
    expect(await review(pending, 'accept')).toMatchObject({ status: 404 })
    expect(await review(crypto.randomUUID(), 'accept')).toMatchObject({ status: 404 })
    await finish()
    expect(await review(pending, 'reject')).toMatchObject({ status: 422 })
  })

  it('can be made only by people', async ({ expect }) => {
    const { org, ids, begin } = await newBench([{ expected: 'some words' }])
    const { path, sendOutputs, report } = await begin()
    await sendOutputs({ [ids[0] ?? '']: 'other words' })
    for (const actsAs of ['agent', 'pipeline']) {
      const key = org.clientOf(await org.keyFor({ actsAs }))
      expect(await key.post(`${path}/items/${ids[0]}/review`, { decision: 'accept' })).toMatchObject({
        status: 403,
        body: { code: 'person_required' },
      })
    }
    const { client, userId } = await reviewerOf(org)
    expect((await client.post(`${path}/items/${ids[0]}/review`, { decision: 'accept' })).body).toMatchObject({
      review: { by: userId },
    })
    expect(await report()).toMatchObject({ counts: { passed: 1 } })
  })

  it('is possible after the experiment is canceled', async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: 'some words' }, { expected: 1 }])
    const { sendOutputs, cancel, review, report } = await begin()
    await sendOutputs({ [ids[0] ?? '']: 'other words' })
    await cancel()
    await review(ids[0] ?? '', 'accept')
    expect(await report()).toMatchObject({ state: 'cancelled', counts: { passed: 1, unjudged: 0 }, pending: 1 })
  })

  it('is rejected if the item already has 20 alternatives', { timeout: 60_000 }, async ({ expect }) => {
    const bench = await newBench([{ expected: 'some words' }])
    const [itemId = ''] = bench.ids
    const accept = async (output: string) => {
      const { sendOutputs, review } = await bench.begin()
      await sendOutputs({ [itemId]: output })
      return (await review(itemId, 'accept')).status
    }
    for (let index = 0; index < 20; index++) expect(await accept(`other words ${index}`)).toBe(200)
    expect(await accept('one too many')).toBe(422)
    expect(await expectedOf(bench, itemId)).toHaveLength(21)
  })
})
