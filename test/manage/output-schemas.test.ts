import { describe, it } from 'vitest'
import { MAX_CONTENT_BYTES, MAX_SCHEMA_BYTES, MAX_VERSIONS_BYTES, VERSION_BYTES } from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { aText, kindsOfText, newText, statusCounts, times } from '../support/texts.ts'

/** A timeout for tests that store megabytes, which can be slow on a busy machine. */
const SLOW_MS = 30_000

describe("a prompt's outputSchema", () => {
  const [kind] = kindsOfText
  if (!kind) throw new Error('kindsOfText is empty')
  const SCHEMA = {
    type: 'object',
    properties: { b: { type: 'string' }, a: {} },
    required: ['b'],
    'x-1.0': [null, 1e3, ''],
  }

  it('is inherited from the active version if none is sent', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org, 'answer', { outputSchema: SCHEMA })
    expect(text.created.outputSchema).toEqual(SCHEMA)
    const other = { type: 'array' }
    await text.add({ content: 'Not active', outputSchema: other, activate: false })
    expect((await text.add({ content: 'Inherits' })).body.outputSchema).toEqual(SCHEMA)
    const changed = await text.add({ content: 'Changes', outputSchema: other })
    expect(changed.body.outputSchema).toEqual(other)
    expect((await text.add({ content: 'Inherits', activate: false })).body.outputSchema).toEqual(other)
    expect((await text.add({ content: 'Empties', outputSchema: {} })).body.outputSchema).toEqual({})
    expect((await text.add({ content: 'Inherits' })).body.outputSchema).toEqual({})
    await text.activate(changed.body.id)
    const detail = await text.detail()
    expect(detail.outputSchema).toEqual(other)
    expect((await text.listed()).outputSchema).toEqual(other)
    expect(detail.versions.map(({ outputSchema }: { outputSchema: object }) => outputSchema)).toEqual([
      SCHEMA,
      other,
      SCHEMA,
      other,
      other,
      {},
      {},
    ])
  })

  it('is an empty object if none was ever sent', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    expect(text.created.outputSchema).toEqual({})
    expect((await text.add({ content: 'x' })).body.outputSchema).toEqual({})
    expect((await text.detail()).outputSchema).toEqual({})
  })

  it('is returned unchanged, even with unusual field names', async ({ expect }) => {
    const org = await newOrg()
    const schema = '{"b":1,"a":2,"__proto__":{"x":[]},"constructor":"😀","toJSON":{}}'
    const draft = JSON.stringify(aText(kind, 'answer', { outputSchema: 'SCHEMA' })).replace('"SCHEMA"', schema)
    const { body } = await org.owner.post(kind.path, draft)
    expect(JSON.stringify(body.outputSchema)).toBe(schema)
    const detail = await org.read.get(`${kind.path}/${body.id}`)
    expect(JSON.stringify(detail.body.outputSchema)).toBe(schema)
    expect(JSON.stringify(detail.body.versions[0].outputSchema)).toBe(schema)
  })

  it.for<[string, unknown]>([
    ['a list', []],
    ['null', null],
    ['text', '{}'],
    ['a byte too long', { x: 'x'.repeat(MAX_SCHEMA_BYTES - 7) }],
  ])('cannot be %s', async ([, outputSchema], { expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    for (const response of [
      await org.owner.post(kind.path, aText(kind, 'b', { outputSchema })),
      await text.add({ content: 'x', outputSchema }),
    ]) {
      expect(response.status).toBe(400)
      expect(response.body.details[0].path).toMatch(/^outputSchema/)
    }
    expect((await text.detail()).versions).toHaveLength(1)
  })

  it.for<[schema: object, path: string]>([
    [{ properties: { a: { type: 'text' } } }, 'outputSchema.properties.a.type'],
    [{ items: { $ref: '#/$defs/none' } }, 'outputSchema.items.$ref'],
    [{ $defs: { a: { pattern: '(' } } }, 'outputSchema.$defs.a.pattern'],
    [{ pattern: '(?:a{100}){100}' }, 'outputSchema.pattern'],
    [{ required: 'a' }, 'outputSchema.required'],
    [{ $schema: 'http://json-schema.org/draft-03/schema#' }, 'outputSchema.$schema'],
    [{ $ref: '#' }, 'outputSchema'],
  ])('is rejected as soon as it is sent if it is invalid: %j', async ([outputSchema, path], { expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    for (const response of [
      await org.owner.post(kind.path, aText(kind, 'b', { outputSchema })),
      await text.add({ content: 'x', outputSchema }),
    ]) {
      expect(response.status).toBe(400)
      expect(response.body.details.map((detail: { path: string }) => detail.path)).toContain(path)
    }
    expect((await text.detail()).versions).toHaveLength(1)
  })

  it('is not inherited if it is invalid', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const broken = JSON.stringify({ properties: { a: { type: 'text' } } })
    await stored
      .prepare('update text_versions set output_schema = ? where id = ?')
      .bind(broken, text.created.versionId)
      .run()
    const response = await text.add({ content: 'x' })
    expect(response.status).toBe(400)
    expect(response.body.details).toMatchObject([
      { path: 'outputSchema.properties.a.type', message: expect.stringContaining('inherited from the active version') },
    ])
    expect((await text.add({ content: 'x', outputSchema: {} })).status).toBe(201)
  })

  it(
    'counts toward the limit even if inherited',
    async ({ expect }) => {
      const org = await newOrg()
      const outputSchema = { x: 'x'.repeat(MAX_SCHEMA_BYTES - '{"x":""}'.length) }
      const content = 'x'.repeat(MAX_CONTENT_BYTES)
      const text = await newText(kind, org, 'answer', { content, outputSchema })
      const quotes = 2
      const each = MAX_CONTENT_BYTES + quotes + MAX_SCHEMA_BYTES + VERSION_BYTES
      const fitting = Math.floor(MAX_VERSIONS_BYTES / each)
      const added = await times(fitting - 1, () => text.add({ content, activate: false }))
      expect(statusCounts(added)).toEqual([['201', fitting - 1]])
      // There's room for one more schema and this much content.
      const left = MAX_VERSIONS_BYTES - fitting * each - MAX_SCHEMA_BYTES - quotes
      expect((await text.add({ content: 'x'.repeat(left + 1) })).status).toBe(422)
      expect((await text.add({ content: 'x'.repeat(left) })).status).toBe(201)
      expect((await text.add({ content: 'x', outputSchema: {} })).status).toBe(422)
    },
    SLOW_MS,
  )
})
