import { describe, it } from 'vitest'
import { MAX_CONTENT_BYTES, MAX_DIFF_EDITS } from '../../src/limits.ts'
import { client, newOrg } from '../support/org.ts'
import { kindsOfText, newText, otherKind } from '../support/texts.ts'

describe.for(kindsOfText)('a diff at $path', kind => {
  it('shows the changes between two versions, in either direction', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org, 'answer', { content: 'one\ntwo\nthree' })
    const second = (await text.add({ content: 'one\n2\nthree\n', activate: false })).body.id
    const diff = async (a: string, b: string) => (await org.read.get(`${text.path}/versions/${a}/diff/${b}`)).body
    expect(await diff(text.created.versionId, second)).toEqual({
      lines: [
        { op: 'same', text: 'one' },
        { op: 'remove', text: 'two' },
        { op: 'add', text: '2' },
        { op: 'same', text: 'three' },
        { op: 'add', text: '' },
      ],
      isMinimal: true,
      schema: [],
    })
    expect((await diff(second.toUpperCase(), text.created.versionId)).lines).toMatchObject([
      { op: 'same' },
      { op: 'remove', text: '2' },
      { op: 'add', text: 'two' },
      { op: 'same' },
      { op: 'remove', text: '' },
    ])
    const same = await diff(second, second)
    expect(new Set(same.lines.map(({ op }: { op: string }) => op))).toEqual(new Set(['same']))
  })

  it('requires a key with the read or manage scope for the project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const text = await newText(kind, org)
    const { versionId } = text.created
    for (const [fields, status] of [
      [{ scopes: ['read'] }, 200],
      [{ scopes: ['manage'] }, 200],
      [{ scopes: ['ingest', 'review'] }, 403],
      [{ projectSlug: 'other' }, 403],
    ] as const) {
      const caller = client({ 'x-api-key': await org.keyFor(fields) })
      expect((await caller.get(`${text.path}/versions/${versionId}/diff/${versionId}`)).status).toBe(status)
    }
  })

  it.for([
    ['a version of a different prompt or doc', 404],
    ['a version of the other kind', 404],
    ['a version in another organization', 404],
    ['a version that does not exist', 404],
    ['an invalid version id', 404],
    ['a prompt or doc of the other kind', 404],
    ['a prompt or doc that does not exist', 404],
    ["another organization's prompt or doc", 403],
  ] as const)('is rejected for %s', async ([which, status], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const text = await newText(kind, org)
    const [other, ofOtherKind, foreign] = [
      await newText(kind, org, 'other'),
      await newText(otherKind(kind), org),
      await newText(kind, otherOrg),
    ]
    const own = text.created.versionId
    const [path, version] = {
      'a version of a different prompt or doc': [text.path, other.created.versionId],
      'a version of the other kind': [text.path, ofOtherKind.created.versionId],
      'a version in another organization': [text.path, foreign.created.versionId],
      'a version that does not exist': [text.path, crypto.randomUUID()],
      'an invalid version id': [text.path, 'active'],
      'a prompt or doc of the other kind': [`${kind.path}/${ofOtherKind.id}`, ofOtherKind.created.versionId],
      'a prompt or doc that does not exist': [`${kind.path}/${crypto.randomUUID()}`, own],
      "another organization's prompt or doc": [foreign.path, foreign.created.versionId],
    }[which]
    for (const [a, b] of [
      [version, own],
      [own, version],
      [version, version],
    ]) {
      const error = status === 404 ? 'Not found' : 'Forbidden'
      expect(await org.read.get(`${path}/versions/${a}/diff/${b}`)).toMatchObject({ status, body: { error } })
    }
  })

  it('is marked as not minimal if the versions have too little in common', async ({ expect }) => {
    const org = await newOrg()
    const lines = (prefix: string) => Array.from({ length: 2 * MAX_DIFF_EDITS }, (_, index) => `${prefix}${index}`)
    const text = await newText(kind, org, 'answer', { content: ['same', ...lines('a')].join('\n') })
    const second = (await text.add({ content: ['same', ...lines('b')].join('\n') })).body.id
    const { body } = await org.read.get(`${text.path}/versions/${text.created.versionId}/diff/${second}`)
    expect(body.isMinimal).toBe(false)
    expect(body.lines).toHaveLength(1 + 4 * MAX_DIFF_EDITS)
  })

  it('works on the longest versions', { timeout: 30_000 }, async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org, 'answer', { content: `${'\n'.repeat(MAX_CONTENT_BYTES - 1)}a` })
    const second = (await text.add({ content: `b${'\n'.repeat(MAX_CONTENT_BYTES - 1)}` })).body.id
    const { status, body } = await org.read.get(`${text.path}/versions/${text.created.versionId}/diff/${second}`)
    expect(status).toBe(200)
    const count = (without: string) => body.lines.filter(({ op }: { op: string }) => op !== without).length
    expect([count('add'), count('remove')]).toEqual([MAX_CONTENT_BYTES, MAX_CONTENT_BYTES])
  })
})

describe("the diff between a prompt's versions", () => {
  it('shows the changes in the outputSchema', async ({ expect }) => {
    const org = await newOrg()
    const [prompts] = kindsOfText
    if (!prompts) throw new Error('kindsOfText is empty')
    const text = await newText(prompts, org, 'answer', {
      outputSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
    })
    const outputSchema = {
      required: ['answer', 'sources'],
      properties: { answer: { type: 'number' }, sources: { type: 'array' } },
    }
    const changed = (await text.add({ content: 'First', outputSchema })).body.id
    const { body } = await org.read.get(`${text.path}/versions/${text.created.versionId}/diff/${changed}`)
    expect(body).toEqual({
      lines: [{ op: 'same', text: 'First' }],
      isMinimal: true,
      schema: [
        { path: 'type', op: 'remove', before: 'object', after: null },
        { path: 'properties.answer.type', op: 'change', before: 'string', after: 'number' },
        { path: 'properties.sources', op: 'add', before: null, after: { type: 'array' } },
        { path: 'required.1', op: 'add', before: null, after: 'sources' },
      ],
    })
  })
})
