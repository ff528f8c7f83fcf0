import * as fc from 'fast-check'
import { it } from 'vitest'
import { findJsonFault, type Json } from '../../src/domain/json.ts'
import { STEP_KINDS } from '../../src/domain/step-kind.ts'
import { utf8Length } from '../../src/domain/text.ts'
import { MAX_METADATA_BYTES, MAX_NAME_LENGTH, MAX_OBSERVATION_BYTES, MAX_STATE_KEY_LENGTH } from '../../src/limits.ts'
import { stepOf } from '../../src/otlp/map.ts'
import type { TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import { aSpan, recordedSpans } from '../support/decoded-telemetry.ts'
import { recorded } from '../support/recorded.ts'

/*
 * Any span becomes a step that is within all limits, no matter what values the conventions' keys have. Values that no
 * convention reads are kept.
 */

/** Keys that aren't in the recordings. */
const MORE_KEYS = [
  'countersign.step_id',
  'countersign.trace_id',
  'countersign.prompt_version_id',
  'countersign.state.config',
  'countersign.state.retrieved_chunks',
  'countersign.state.__proto__',
  'openinference.span.kind',
  'llm.input_messages.999999999999.message.role',
  'llm.input_messages.__proto__.message.content',
  'llm.input_messages.0',
  'llm.input_messages.0.message.contents.1.message_content.type',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments',
  'llm.cost.total',
  'llm.cost.0',
  'llm.tools.0.tool.json_schema',
  'llm.provider',
  'retrieval.documents.0.document.id',
  'retrieval.documents.0.document.metadata',
  'retrieval.documents.0.document.score',
  'reranker.query',
  'reranker.output_documents.0.document.content',
  'embedding.embeddings.0.embedding.text',
  'annotations.0.annotation.annotator_kind',
  'annotations.0.annotation.score',
  'annotations.0.annotation.label',
  'trace.evaluations.0.evaluation.annotator_kind',
  'prompt.id',
  'graph.node.id',
  'gen_ai.prompt',
  'gen_ai.prompt.0.content',
  'gen_ai.prompt.0.tool_calls.0.arguments',
  'gen_ai.prompt.name',
  'gen_ai.completion',
  'gen_ai.completion.1.finish_reason',
  'gen_ai.request.__proto__',
  'gen_ai.output.type',
  'gen_ai.retrieval.query.text',
  'gen_ai.tool.call.result',
  'ai.response.object',
  'ai.response.reasoning',
  'ai.settings.context.userId',
  'ai.telemetry.metadata.__proto__',
  'enduser.id',
  'error.type',
  'llm.request.type',
  'mlflow.spanInputs',
  'mlflow.spanOutputs',
  'mlflow.spanType',
  'genkit:input',
  'genkit:output',
  'genkit:metadata:subtype',
  'gcp.vertex.agent.llm_request',
  'gcp.vertex.agent.llm_response',
  'lk.function_tool.name',
  'input',
  'output',
  'prompt',
  'model',
  '__proto__',
  'constructor',
  '',
]

const EVENTS = [
  'exception',
  'gen_ai.user.message',
  'gen_ai.tool.message',
  'gen_ai.choice',
  'gen_ai.content.prompt',
  'gen_ai.content.completion',
  'gen_ai.client.inference.operation.details',
  'gen_ai.evaluation.result',
  'db.query.result',
  '',
]

const WORDS = [
  '',
  'LLM',
  'chat',
  'user',
  'assistant',
  'tool',
  'retriever',
  'HUMAN',
  '[Scrubbed due to',
  '{}',
  '[[]]',
  '"',
  '"{\\"a\\":1}"',
  '1e999',
  '{"a":1e999}',
  '\ud800',
  'x'.repeat(300),
  '['.repeat(200) + ']'.repeat(200),
]

const FIELDS = [
  'role',
  'content',
  'parts',
  'type',
  'text',
  'id',
  'name',
  'message',
  'messages',
  'tool_calls',
  'function',
  'arguments',
  'lc',
  'kwargs',
  'choices',
  'candidates',
  'generations',
  'output',
  'documents',
  'metadata',
  'score',
  'system',
  'prompt',
  'summary',
  'tool_call',
  'message_content',
  'image',
  'additional_kwargs',
  '__proto__',
  'toJSON',
]

const PARTS = ['text', 'tool_call', 'tool-result', 'reasoning', 'function_call', 'message', 'human', 'tool', 'image']

const { value } = fc.letrec<{ value: Json; list: Json[]; object: Json; serialized: string }>(tie => ({
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom(...FIELDS), tie('value'), { maxKeys: 5 }),
  serialized: fc.oneof(tie('list'), tie('object')).map(json => JSON.stringify(json)),
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, -1, 1.5, 1e300, ...WORDS, ...PARTS),
    tie('object'),
    tie('list'),
    tie('serialized'),
  ),
}))

const anySpan = (keys: readonly string[]): fc.Arbitrary<TelemetrySpan> => {
  const attributes = fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 25 })
  const event = fc.record({ name: fc.constantFrom(...EVENTS), attributes })
  return fc
    .record({
      name: fc.oneof(fc.constantFrom('chat m', 'invoke_agent m', ...WORDS), fc.string()),
      attributes,
      resource: attributes,
      events: fc.array(event, { maxLength: 4 }),
      status: fc.constantFrom('unset' as const, 'ok' as const, 'error' as const),
    })
    .map(aSpan)
}

it('turns any span into a step', { timeout: 120_000 }, async ({ expect }) => {
  const directories = new Set(recorded().map(({ directory }) => directory))
  directories.delete('quirks')
  const spans = (await Promise.all([...directories].map(recordedSpans))).flat()
  const sent = spans.flatMap(({ attributes, source }) => [...attributes.keys(), ...source.resource.keys()])
  const keys = [...new Set([...sent, ...MORE_KEYS])]
  const bytesOf = (json: unknown): number => utf8Length(JSON.stringify(json))

  fc.assert(
    fc.property(anySpan(keys), span => {
      const step = stepOf(span)
      expect(STEP_KINDS).toContain(step.kind)
      expect(step.stepId.trim()).not.toBe('')
      expect(step.stepId.length).toBeLessThanOrEqual(MAX_NAME_LENGTH)
      for (const json of [step.input ?? null, step.output ?? null, ...step.state.values()]) {
        expect(findJsonFault(json)).toBeUndefined()
        expect(bytesOf(json)).toBeLessThanOrEqual(MAX_OBSERVATION_BYTES)
      }
      for (const key of step.state.keys()) expect(key.length).toBeLessThanOrEqual(MAX_STATE_KEY_LENGTH)
      for (const json of [step.metadata, step.trace.metadata ?? {}]) {
        expect(findJsonFault(json)).toBeUndefined()
        expect(bytesOf(json)).toBeLessThanOrEqual(MAX_METADATA_BYTES)
      }
      const { name, rootName, groupId, userId, environment, release, tags } = step.trace
      for (const text of [name, rootName, groupId, userId, environment, release, ...(tags ?? [])]) {
        expect(['string', 'undefined']).toContain(typeof text)
      }
      for (const { name, identifier } of step.feedback)
        expect([typeof name, typeof identifier]).toEqual(['string', 'string'])
      expect(stepOf(span)).toEqual(step)
      expect(Object.keys(Object.prototype)).toEqual([])
    }),
    { numRuns: 1500 },
  )
})

it('keeps every attribute that no convention reads', ({ expect }) => {
  const unknown = fc.string({ minLength: 1 }).map(key => `app.${key}`)
  fc.assert(
    fc.property(fc.dictionary(unknown, value, { minKeys: 1, maxKeys: 10, noNullPrototype: true }), attributes => {
      const { metadata, warnings } = stepOf(aSpan({ attributes }))
      if (warnings.length === 0) expect(metadata.attributes).toEqual(attributes)
    }),
  )
})

it('reports that a model’s name was truncated', ({ expect }) => {
  const { modelUse, warnings } = stepOf(
    aSpan({ attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm'.repeat(300) } }),
  )
  expect([modelUse.model?.length, warnings]).toEqual([256, ['truncated model, which had 300 characters']])
})

it('reads the first 10,000 attributes on a span, and reports how many there were', ({ expect }) => {
  const many = (nameAt: (index: number) => string, value: string | number) =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [nameAt(index), value]))
  const messages = stepOf(aSpan({ attributes: many(index => `llm.input_messages.${index}.message.content`, 'hi') }))
  expect(Reflect.get(Object(messages.input), 'messages').length).toBe(10_000)
  expect(messages.warnings).toContain('truncated attributes, which had 20000 values')
  const words = stepOf(aSpan({ attributes: many(index => `w${index}.key`, 1) }))
  expect(JSON.stringify(words.metadata.attributes).length).toBeGreaterThan(10_000)
})

it('counts an event or link as one attribute, reads 10,000 of each, and reports how many there were', ({ expect }) => {
  const attributes = new Map(Array.from({ length: 9 }, (_, index) => [`k${index}`, index]))
  const link = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceState: '', attributes: new Map() }
  const given = aSpan({ attributes: {} })
  const { metadata, warnings } = stepOf({
    ...given,
    events: Array.from({ length: 30_000 }, () => ({ name: 'gen_ai.user.message', timeNs: 1n, attributes })),
    links: Array.from({ length: 30_000 }, () => link),
  })
  expect(warnings).toEqual(expect.arrayContaining(['truncated events, which had 30000 values']))
  expect(warnings).toEqual(expect.arrayContaining(['truncated links, which had 30000 values']))
  const several = stepOf({
    ...given,
    events: Array.from({ length: 1000 }, () => ({ name: 'e', timeNs: 1n, attributes })),
  })
  expect(several.warnings.filter(warning => warning.startsWith('events was'))).toEqual([])
  expect(metadata.span_name).toBe(given.name)
})

it('reads the first 10,000 attributes on a resource or scope', ({ expect }) => {
  const given = aSpan({ attributes: {} })
  const many = new Map(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]))
  const source = { resource: many, scope: { ...given.source.scope, attributes: many } }
  const { warnings } = stepOf({ ...given, source })
  expect(warnings).toEqual(
    expect.arrayContaining(['truncated resource, which had 20000 values', 'truncated scope, which had 20000 values']),
  )
})

it('keeps text unparsed if it is nested too deeply', ({ expect }) => {
  const text = '['.repeat(1_000_000)
  expect(stepOf(aSpan({ attributes: { 'output.value': text } })).output).toBe(text)
})
