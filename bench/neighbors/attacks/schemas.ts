import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { MAX_OBSERVATION_BYTES } from '../../../src/limits.ts'
import type { Answer, Client } from '../../client.ts'
import { type Attack, type Attacks, addTrace, part, span, times } from '../attack.ts'

const Prompt = v.object({ versionId: v.string() })

const nested = (depth: number, around: (inner: object) => object, inner: object): object =>
  depth === 0 ? inner : nested(depth - 1, around, around(inner))

/** Reviews of outputs that are expensive to validate. If a schema is rejected, storing it is the attack. */
export const schemas: Attacks = share => ({
  'uniqueItems of objects': judged(
    { type: 'array', uniqueItems: true, items: { type: 'object' } },
    times(part(share, 150_000), id => ({ id, name: `Item ${id}` })),
  ),
  'uniqueItems of numbers': judged(
    { type: 'array', uniqueItems: true },
    times(part(share, 600_000), id => id),
  ),
  'a nested quantifier': judged({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`),
  'alternatives that overlap': judged({ type: 'string', pattern: '^(a|a)*$' }, `${'a'.repeat(40)}!`),
  'two quantifiers over one string': judged({ type: 'string', pattern: 'a*a*b$' }, 'a'.repeat(part(share, 5_000_000))),
  'a pattern over a long string': judged({ type: 'string', pattern: '^[a-z ]*$' }, 'a '.repeat(part(share, 2_500_000))),
  'a back-reference': judged({ type: 'string', pattern: '^(.*)\\1*$' }, 'ab'.repeat(part(share, 100_000))),
  'patterns for many names': judged(
    {
      type: 'object',
      patternProperties: Object.fromEntries(times(500, index => [`^x.*${index}$`, { type: 'number' }])),
    },
    Object.fromEntries(times(part(share, 200_000), index => [`x${index}`, index])),
  ),
  'doubling allOf': judged(doubling(part(share, 30) + 2, 'allOf'), { a: 1 }),
  'doubling anyOf': judged(doubling(part(share, 30) + 2, 'anyOf'), { a: 1 }),
  'oneOf with many': judged(
    { type: 'array', items: { oneOf: times(300, index => ({ const: `kind-${index}` })) } },
    times(part(share, 300_000), index => `kind-${index % 300}`),
  ),
  'a large enum': judged(
    { type: 'array', items: { enum: times(4000, index => `value-${index}`) } },
    times(part(share, 300_000), index => `other-${index}`),
  ),
  // The work doubles with each level. A schema may have twice as many levels as this one.
  'alternatives within alternatives': judged(
    nested(10, inner => ({ anyOf: [{ properties: { a: inner } }, { properties: { a: inner } }] }), { type: 'string' }),
    nested(10, inner => ({ a: inner }), {}),
  ),
  'a list that refers to itself': judged(
    {
      $defs: { tree: { type: 'array', items: { anyOf: [{ $ref: '#/$defs/tree' }, { $ref: '#/$defs/tree' }] } } },
      $ref: '#/$defs/tree',
    },
    nested(part(share, 100), inner => [inner], [1]),
  ),
  'many faults': judged(
    { type: 'array', items: { type: 'string' } },
    times(part(share, 850_000), id => id % 100_000),
  ),
  'contains that never matches': judged(
    { type: 'array', contains: { type: 'object', required: ['x'], properties: { x: { const: 'y' } } }, minContains: 5 },
    times(part(share, 300_000), id => ({ id })),
  ),
  '200 large outputs': async client => {
    await addSchema(client, 'large', { type: 'object', properties: { text: { type: 'string' } } })
    const spans = times(part(share, 200), index =>
      span({ step_id: 'large', output: { index, text: 'a'.repeat(500_000) } }),
    )
    await addTrace(client, spans, {}, 10)
    const reviews = spans.map(({ body }) => ({
      spanId: (body as { span_id: string }).span_id,
      decision: 'accept',
      force: true,
    }))
    return () => client.send('POST', '/api/reviews', { reviews })
  },
  '8 outputs of 5 MB of numbers': async client => {
    await addSchema(client, 'numbers', { type: 'array' })
    const spans = times(part(share, 8), () =>
      span({ step_id: 'numbers', output: times(part(share, 2_500_000), index => index % 10) }),
    )
    await addTrace(client, spans, {}, 1)
    const reviews = spans.map(({ body }) => ({
      spanId: Reflect.get(body, 'span_id'),
      decision: 'accept',
      force: true,
    }))
    return () => client.send('POST', '/api/reviews', { reviews })
  },
  'a correction of 5 MB that differs only in order': async client => {
    const items = times(part(share, 200_000), index => ({ a: index, b: index % 10 }))
    const event = span({ output: { items } })
    await addTrace(client, [event])
    const approvedOutput = { items: items.map(({ a, b }) => ({ b, a })) }
    const path = `/api/spans/${Reflect.get(event.body, 'span_id')}/review`
    return () => client.send('PUT', path, { decision: 'correct', approvedOutput })
  },
  '200 reviews of one output': async client => {
    const large = span({ output: { text: 'a'.repeat(part(share, 5_000_000)) } })
    await addTrace(client, [large])
    const spanId = (large.body as { span_id: string }).span_id
    const reviews = times(part(share, 200), index => ({
      spanId,
      decision: index % 2 === 0 ? 'accept' : 'correct',
      ...(index % 2 === 1 && { approvedOutput: { index } }),
    }))
    return () => client.send('POST', '/api/reviews', { reviews })
  },
})

/** A schema with `2 ** depth` paths through `depth` definitions. */
function doubling(depth: number, keyword: 'allOf' | 'anyOf'): object {
  const definitions = times(depth, index => [
    `d${index}`,
    { [keyword]: times(2, () => (index === depth - 1 ? { type: 'string' } : { $ref: `#/$defs/d${index + 1}` })) },
  ])
  return { $defs: Object.fromEntries(definitions), $ref: '#/$defs/d0' }
}

/** Stores a prompt with a schema, and accepts an output of its step. */
function judged(outputSchema: object, output: unknown): Attack {
  return async client => {
    const stepId = `step-${randomUUID()}`
    const stored = await addSchema(client, stepId, outputSchema)
    if (stored.status !== 201) return () => addSchema(client, `step-${randomUUID()}`, outputSchema)
    const promptVersionId = v.parse(Prompt, JSON.parse(stored.body)).versionId
    const json = JSON.stringify(output)
    if (json.length > MAX_OBSERVATION_BYTES) throw new Error(`an output of ${json.length} bytes is too large`)
    const event = span({ step_id: stepId, output, prompt_version_id: promptVersionId })
    await addTrace(client, [event])
    const path = `/api/spans/${(event.body as { span_id: string }).span_id}/review`
    return () => client.send('PUT', path, { decision: 'accept' })
  }
}

const addSchema = (client: Client, stepId: string, outputSchema: object): Promise<Answer> =>
  client.send('POST', '/api/prompts', { projectSlug: 'bench', stepId, content: 'Answer.', outputSchema })
