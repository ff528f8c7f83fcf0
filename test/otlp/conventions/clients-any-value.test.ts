import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { claudeCode } from '../../../src/otlp/conventions/claude-code.ts'
import { codex } from '../../../src/otlp/conventions/codex.ts'
import { laminar } from '../../../src/otlp/conventions/laminar.ts'
import { langfuse } from '../../../src/otlp/conventions/langfuse.ts'
import { langsmith } from '../../../src/otlp/conventions/langsmith.ts'
import { logfire } from '../../../src/otlp/conventions/logfire.ts'
import { traceloop } from '../../../src/otlp/conventions/traceloop.ts'
import { foldMessages, messagesOf, recordKeys } from '../../../src/otlp/log-messages.ts'
import { type Convention, SpanReader } from '../../../src/otlp/reading/convention.ts'
import { aLog, aSpan } from '../../support/decoded-telemetry.ts'

/** The field names that the conventions look for in values. */
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
  'index',
  'finish_reason',
  'event.name',
  'gen_ai.event.content',
  'args',
  'kwargs',
  'inputs',
  'outputs',
  'lc',
  'choices',
  'generations',
  'documents',
  'metadata',
  'score',
  'model',
  'system',
  'input',
  'tools',
  'usage',
  'properties',
  'total',
  'input_token_details',
  'combined_chunk_content',
  '__proto__',
  'constructor',
]

const WORDS = [
  '',
  'llm',
  'LLM',
  'DEFAULT',
  'CACHED',
  'span',
  'generation',
  'retriever',
  'task',
  'user',
  'assistant',
  'tool',
  'log',
  'gen_ai.choice',
  'gen_ai.user.message',
  'ERROR',
  '<REDACTED>',
  '3',
  '1e999',
  '[USER]\nhi\n\n---\n\n[TOOL RESULT: 1]\n{',
  '{"args":[],"kwargs":{}}',
  '\ud800',
]

const { value: aStructure } = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<Json>(null, true, 0, -1, 1e21, ...WORDS),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie('value'), { noNullPrototype: true, maxKeys: 6 }),
  ),
}))

/** Values as a decoder returns them: structured or serialized, complete or truncated. */
const aValue: fc.Arbitrary<Json> = fc.oneof(
  aStructure,
  aStructure.map(value => JSON.stringify(value)),
  fc.tuple(aStructure, fc.nat(40)).map(([value, length]) => JSON.stringify(value).slice(0, length)),
  fc.jsonValue().map((value): Json => JSON.parse(JSON.stringify(value))),
)

const anObject = (keys: readonly string[], below: readonly string[]): fc.Arbitrary<Record<string, Json>> => {
  const aKey = fc.oneof(
    fc.constantFrom(...keys),
    ...below.map(prefix => fc.constantFrom('x', '__proto__', '0', '999999999999.content').map(rest => prefix + rest)),
  )
  return fc.dictionary(aKey, aValue, { noNullPrototype: true, maxKeys: 12 })
}

/** Whether JSON can round-trip a value. It can't round-trip undefined, NaN, infinities, or class instances. */
function isJson(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return value.every(isJson)
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJson)
}

interface Source {
  convention: Convention
  scope: string
  names?: string[]
  keys: string[]
  below?: string[]
  events?: string[]
}

const SOURCES: Source[] = [
  {
    convention: traceloop,
    scope: '@traceloop/node-server-sdk',
    keys: [
      'traceloop.span.kind',
      'traceloop.entity.name',
      'traceloop.entity.path',
      'traceloop.entity.version',
      'traceloop.entity.input',
      'traceloop.entity.output',
      'traceloop.workflow.name',
      'traceloop.prompt.key',
      'traceloop.prompt.version',
      'traceloop.prompt.version_name',
      'traceloop.prompt.version_hash',
      'db.query.result.document.0',
      'db.search.result.id.999999999999',
    ],
    below: ['traceloop.association.properties.', 'traceloop.prompt.template_variables.'],
    events: ['db.query.result', 'db.search.result', 'pinecone.query.result.0'],
  },
  {
    convention: langfuse,
    scope: 'langfuse-sdk',
    keys: [
      'langfuse.observation.type',
      'langfuse.observation.input',
      'langfuse.observation.output',
      'langfuse.observation.level',
      'langfuse.observation.status_message',
      'langfuse.observation.model.name',
      'langfuse.observation.model.parameters',
      'langfuse.observation.usage_details',
      'langfuse.observation.cost_details',
      'langfuse.observation.prompt.name',
      'langfuse.observation.prompt.version',
      'langfuse.observation.completion_start_time',
      'langfuse.observation.metadata',
      'langfuse.prompt.name',
      'langfuse.prompt.version',
      'langfuse.trace.name',
      'langfuse.trace.input',
      'langfuse.trace.output',
      'langfuse.trace.metadata',
      'langfuse.environment',
      'langfuse.release',
      'langfuse.version',
      'langfuse.internal.as_root',
    ],
    below: ['langfuse.trace.metadata.', 'langfuse.observation.metadata.'],
  },
  {
    convention: langsmith,
    scope: 'langsmith',
    keys: [
      'langsmith.span.kind',
      'langsmith.trace.name',
      'langsmith.usage_metadata',
      'langsmith.metadata.invocation_params',
      'langsmith.metadata.ls_temperature',
      'langsmith.metadata.ls_provider',
      'langsmith.metadata.langgraph_node',
      'gen_ai.prompt',
      'gen_ai.completion',
    ],
    below: ['langsmith.metadata.'],
  },
  {
    convention: laminar,
    scope: 'lmnr',
    keys: [
      'lmnr.span.type',
      'lmnr.span.original_type',
      'lmnr.span.input',
      'lmnr.span.output',
      'gen_ai.usage.cost',
      'gen_ai.usage.input_cost',
      'gen_ai.usage.output_cost',
    ],
    below: ['lmnr.association.properties.metadata.'],
  },
  {
    convention: logfire,
    scope: 'pydantic-ai',
    keys: [
      'agent_name',
      'model_name',
      'pydantic_ai.all_messages',
      'all_messages_events',
      'final_result',
      'events',
      'tool_arguments',
      'tool_response',
      'metadata',
      'operation.cost',
      'gen_ai.system_instructions',
    ],
  },
  {
    convention: logfire,
    scope: 'logfire.openai',
    keys: [
      'logfire.span_type',
      'logfire.msg_template',
      'logfire.json_schema',
      'request_data',
      'response_data',
      'events',
      'all_messages_events',
      'return',
      ...FIELDS,
    ],
  },
  {
    convention: claudeCode,
    scope: 'com.anthropic.claude_code.tracing',
    names: ['claude_code.interaction', 'claude_code.llm_request', 'claude_code.tool', 'claude_code.hook'],
    keys: [
      'span.type',
      'user_prompt',
      'new_context',
      'user_system_prompt',
      'response.model_output',
      'model',
      'speed',
      'effort',
      'tools',
      'stop_reason',
      'input_tokens',
      'output_tokens',
      'cache_read_tokens',
      'cache_creation_tokens',
      'tool_name',
      'tool_input',
      'full_command',
      'file_path',
      'skill_name',
      'subagent_type',
    ],
    events: ['tool.output'],
  },
  {
    convention: codex,
    scope: 'codex_exec',
    names: ['session_task.turn', 'handle_responses'],
    keys: [
      'model',
      'codex.turn.reasoning_effort',
      'codex.request.reasoning_effort',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
      'codex.usage.total_tokens',
      'codex.usage.reasoning_output_tokens',
    ],
    events: ['event otel/src/events/session_telemetry.rs:1'],
  },
]

const EVENT_KEYS = [
  ...['id', 'score', 'distance', 'document', 'metadata', 'entity'].flatMap(field => [
    `db.query.result.${field}`,
    `db.search.result.${field}`,
    `db.vector.query.result.0.${field}`,
  ]),
  'output',
  'bash_command',
  'tool_name',
  'event.name',
]

describe('any value under a known key', () => {
  it.for(SOURCES)('is read as JSON by $convention.name from a $scope span', (source, { expect }) => {
    const { convention, scope, names = ['step'], keys, below = [], events = [] } = source
    const anEvent = fc.record({
      name: fc.constantFrom('exception', ...events),
      attributes: anObject(EVENT_KEYS, []),
    })
    let read = 0
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        anObject(keys, below),
        fc.array(anEvent, { maxLength: 3 }),
        (name, attributes, given) => {
          const reader = new SpanReader(aSpan({ name, scope, attributes, events: given }))
          const reading = convention.read(reader)
          if (reading === undefined) return
          read++
          expect(isJson(reading)).toBe(true)
        },
      ),
      { numRuns: 400 },
    )
    // This fails if most of the generated inputs have nothing to read.
    expect(read).toBeGreaterThan(40)
  })

  it('is read as JSON from the messages in a log record', async ({ expect }) => {
    const aRecord = fc
      .record({
        eventName: fc.constantFrom(
          'gen_ai.system.message',
          'gen_ai.tool.message',
          'gen_ai.choice',
          'gen_ai.client.inference.operation.details',
          'gen_ai.content.prompt',
          'gen_ai.content.completion',
          'claude_code.user_prompt',
          'claude_code.assistant_response',
          'claude_code.tool_result',
          'claude_code.api_request_body',
          'claude_code.api_response_body',
          'codex.user_prompt',
          'codex.tool_result',
        ),
        body: aValue,
        attributes: anObject(
          [
            'event.name',
            'gen_ai.event.content',
            'gen_ai.input.messages',
            'gen_ai.output.messages',
            'gen_ai.system_instructions',
            'gen_ai.prompt',
            'gen_ai.completion',
            'prompt',
            'response',
            'body',
            'tool_name',
            'tool_use_id',
            'tool_input',
            'tool_parameters',
            'error',
            'arguments',
            'output',
            'index',
            'message',
          ],
          ['message.'],
        ),
      })
      .map(aLog)
    let messageCount = 0
    await fc.assert(
      fc.asyncProperty(fc.array(aRecord, { maxLength: 4 }), async logs => {
        const messages = logs.flatMap(messagesOf)
        messageCount += messages.length
        const { input = null, output = null } = foldMessages(messages)
        expect(isJson([messages, input, output])).toBe(true)
        expect(new Set(await recordKeys()(logs)).size).toBe(logs.length)
      }),
      { numRuns: 400 },
    )
    expect(messageCount).toBeGreaterThan(100)
  })
})
