import { defineCommand } from '../command.ts'

const DEFAULT_WAIT_SECONDS = 60

export const attributeTrace = defineCommand({
  name: 'attribute',
  summary: 'Find the root cause of a wrong answer',
  description: [
    'The trace needs feedback that disagrees with it: a low rating, a comment, or a correction. If the analysis takes longer than `--wait`, the exit code is 5. To get the answer later, run the same command again.',
  ],
  arguments: { trace: { description: 'Its trace_id, or its ID in the app' } },
  options: {
    force: { type: 'flag', description: "Analyze again, even if there's nothing new. Needs the manage scope." },
    wait: {
      type: 'number',
      value: 'seconds',
      min: 1,
      max: 3600,
      description: `How long to wait for an answer. Default: ${DEFAULT_WAIT_SECONDS}.`,
    },
  },
  examples: [['countersign attribute trace_first', 'Find out what went wrong']],
  scopes: ['ingest or read'],
  json: 'the answer as in `POST /api/v1/traces/{trace_id}/attribute`',
  async run({ out, connect }, { arguments: { trace }, options: { force, wait = DEFAULT_WAIT_SECONDS } }) {
    const client = await (await connect()).client()
    const traceId = trace.startsWith('trace_') ? trace : (await client.traces.get(trace, { spanLimit: 1 })).traceId
    const answer = await client.attribute(traceId, { force, waitMs: 1000 * wait })
    await out.json(answer)
    const confidence = answer.confidence === null ? 'set by a reviewer' : `${Math.round(100 * answer.confidence)}% sure`
    await out.line(`${answer.error_type_name} (${answer.error_type}), ${confidence}`, 'strong')
    await out.line(answer.reasoning)
    if (answer.span_id !== null) await out.line(`span: ${answer.span_id}`)
    for (const { path, note } of answer.evidence) await out.line(`  ${[path, note].filter(Boolean).join(' ')}`)
    for (const { error_type, confidence } of answer.alternatives) {
      await out.line(`or: ${error_type}, ${Math.round(100 * confidence)}%`, 'faint')
    }
    return 'ok'
  },
})
