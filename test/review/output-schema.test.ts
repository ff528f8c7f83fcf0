import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { followShards } from '../../src/jobs/follow-shards.ts'
import { stored } from '../support/database.ts'
import { newReviewed } from '../support/reviews.ts'

/** Stores a schema without checking it, as older releases did. */
async function storeSchema(versionId: string, schema: object) {
  await stored
    .prepare('update text_versions set output_schema = ? where id = ?')
    .bind(JSON.stringify(schema), versionId)
    .run()
  // Copies it to the other databases, if there are any.
  await followShards(env, Date.now())
}

describe("a step's outputSchema", () => {
  const SCHEMA = {
    type: 'object',
    properties: {
      answer: { type: 'string' },
      items: { type: 'array', items: { type: 'object', properties: { 'a/b': { type: 'number' } }, required: ['a/b'] } },
    },
    required: ['answer'],
    additionalProperties: false,
  }

  async function withSchema(outputSchema: object, output: unknown = { answer: 'Yes' }) {
    const fixture = await newReviewed(output)
    const prompt = { projectSlug: 'support', stepId: 'support-answer', content: 'Answer.', outputSchema }
    const { body } = await fixture.org.owner.post('/api/prompts', prompt)
    return { ...fixture, prompt: body }
  }

  it.for([
    ['a wrong type', { answer: 1 }, ['approvedOutput.answer']],
    ['a missing field', {}, ['approvedOutput.answer']],
    ['an extra field', { answer: '', typo: 1 }, ['approvedOutput.typo']],
    ['an entirely different type', 'Yes', ['approvedOutput']],
    [
      'deeply nested faults',
      { answer: '', items: [{ 'a/b': 1 }, { 'a/b': 'x' }, {}] },
      ['approvedOutput.items.1.a/b', 'approvedOutput.items.2.a/b'],
    ],
  ] as const)(
    'rejects a correction, and reports the paths of its faults: %s',
    async ([, approvedOutput, paths], { expect }) => {
      const { review, read } = await withSchema(SCHEMA)
      const response = await review({ decision: 'correct', approvedOutput })
      expect(response.status).toBe(422)
      expect(response.body.details.map(({ path }: { path: string }) => path)).toEqual(paths)
      expect((await read()).span.review.state).toBe('unreviewed')
      expect((await review({ decision: 'correct', approvedOutput, force: true })).status).toBe(200)
    },
  )

  it('rejects an acceptance of an output that violates it', async ({ expect }) => {
    const { review } = await withSchema(SCHEMA, { answer: 1 })
    const response = await review({ decision: 'accept' })
    expect(response.status).toBe(422)
    expect(response.body.details).toMatchObject([{ path: 'output.answer' }])
    expect((await review({ decision: 'accept', force: true })).status).toBe(200)
    expect((await review({ decision: 'reset' })).status).toBe(200)
  })

  it('comes from the span’s prompt version, not the active one', async ({ expect }) => {
    const { org, prompt, step, review } = await withSchema({ type: 'object' })
    await org.owner.post(`/api/prompts/${prompt.id}/versions`, {
      content: 'Answer.',
      outputSchema: { type: 'string' },
      activate: true,
    })
    const span_id = crypto.randomUUID()
    await step({ span_id, step_id: 'support-answer', prompt_version_id: prompt.versionId, output: { a: 1 } })
    const path = `/api/spans/${span_id}/review`
    expect((await org.owner.put(path, { decision: 'correct', approvedOutput: 'a' })).status).toBe(422)
    expect((await org.owner.put(path, { decision: 'accept' })).status).toBe(200)
    // The root span has no prompt version, so the active version is used.
    expect((await review({ decision: 'correct', approvedOutput: { a: 1 } })).status).toBe(422)
    expect((await review({ decision: 'correct', approvedOutput: 'a' })).status).toBe(200)
  })

  it.for([
    ['is empty', {}],
    ['only resembles a JSON schema', { answer: 'string' }],
  ] as const)('allows any value if it %s', async ([, schema], { expect }) => {
    const { review } = await withSchema(schema)
    expect((await review({ decision: 'correct', approvedOutput: [1] })).status).toBe(200)
  })

  it.for([
    ['a dangling reference', { $ref: '#/$defs/none' }],
    ['an invalid pattern', { properties: { answer: { pattern: '(' } } }],
    ['a reference to itself', { $ref: '#' }],
    ['an enum that is not a list', { enum: 3 }],
  ] as const)(
    'is reported as invalid if it was stored before schemas were checked: %s',
    async ([, schema], { expect }) => {
      const { review, prompt } = await withSchema({})
      await storeSchema(prompt.versionId, schema)
      const response = await review({ decision: 'accept' })
      expect(response.status).toBe(422)
      expect(response.body.details[0].message).toContain("the step's outputSchema is invalid")
      expect((await review({ decision: 'accept', force: true })).status).toBe(200)
    },
  )

  it('follows the newest draft if its draft is unknown and it was stored before schemas were checked', async ({
    expect,
  }) => {
    const { review, prompt } = await withSchema({})
    await storeSchema(prompt.versionId, { $schema: 'https://example.com/draft', required: ['none'] })
    expect((await review({ decision: 'accept' })).body.details).toMatchObject([{ path: 'output.none' }])
  })

  it('is reported if it takes too much work to check, but the check can be skipped', async ({ expect }) => {
    const { review } = await withSchema({ uniqueItems: true })
    const approvedOutput = Array.from({ length: 500_000 }, (_, index) => [index])
    const response = await review({ decision: 'correct', approvedOutput })
    expect(response.status).toBe(422)
    expect(response.body.details).toEqual([
      {
        path: 'approvedOutput',
        message: 'cannot be checked: checking it takes more operations than one request may use',
      },
    ])
    expect((await review({ decision: 'correct', approvedOutput, force: true })).status).toBe(200)
  })

  it('reports at most 20 faults', async ({ expect }) => {
    const { review } = await withSchema({ type: 'array', items: { type: 'string' } })
    const response = await review({ decision: 'correct', approvedOutput: Array.from({ length: 5000 }, () => 1) })
    expect(response.status).toBe(422)
    expect(response.body.details).toHaveLength(20)
  })

  it('checks a long value in full', async ({ expect }) => {
    const { review } = await withSchema({
      properties: { items: { type: 'array', items: { type: 'string' } }, last: { type: 'string' } },
    })
    const items = ['', 1, ...Array.from({ length: 200_000 }, () => '')]
    const response = await review({ decision: 'correct', approvedOutput: { items, last: 1 } })
    expect(response.status).toBe(422)
    expect(response.body.details).toMatchObject([{ path: 'approvedOutput.items.1' }, { path: 'approvedOutput.last' }])
    const fitting = { items: items.map(String), last: '' }
    expect((await review({ decision: 'correct', approvedOutput: fitting })).status).toBe(200)
  })
})
