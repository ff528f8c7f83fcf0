import { it } from 'vitest'
import { codex } from '../../../src/otlp/conventions/codex.ts'
import { aSpan, readAs, recordedSpans } from '../../support/decoded-telemetry.ts'

it('reads only the recorded spans of the prompt’s own steps', async ({ expect }) => {
  const spans = await recordedSpans('codex-cli')
  const readings = spans.map(span => [span.name, readAs(codex, span).reading] as const)
  expect(readings.filter(([, reading]) => reading)).toEqual([
    ['run_hooks_and_record_inputs', { kind: 'prompt', stepId: 'user_prompt' }],
    [
      'handle_responses',
      {
        kind: 'llm',
        usage: {
          input_tokens: 42,
          output_tokens: 9,
          total_tokens: 51,
          cache_read_tokens: 7,
          cache_write_tokens: 0,
          reasoning_tokens: 3,
        },
        state: { config: { reasoning_effort: 'default' } },
      },
    ],
    [
      'session_task.turn',
      {
        kind: 'agent',
        model: 'gpt-mock',
        state: { config: { model: 'gpt-mock', reasoning_effort: 'default' } },
      },
    ],
  ])
  expect(readings).toHaveLength(435)
})

it('reads a tool call from the event in its span', ({ expect }) => {
  const span = aSpan({
    name: 'dispatch_tool_call',
    resource: { 'service.name': 'codex_cli_rs' },
    events: [
      {
        name: 'event otel/src/events/session_telemetry.rs:1',
        attributes: { 'event.name': 'codex.tool_result', tool_name: 'shell' },
      },
    ],
  })
  expect(readAs(codex, span).reading).toEqual({ kind: 'tool', stepId: 'shell' })
})

it('ignores spans from other services', ({ expect }) => {
  const attributes = { 'gen_ai.usage.input_tokens': 1 }
  expect(readAs(codex, aSpan({ name: 'handle_responses', attributes })).reading).toBeUndefined()
})
