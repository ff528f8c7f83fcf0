import { defineCommand } from '../command.ts'
import { decide, decisionOptions, printDecision } from '../review/decide.ts'
import { spanToReview } from '../review/shown.ts'

export const reviewAccept = defineCommand({
  name: 'review accept',
  summary: 'Accept an output as it is',
  description: ["If the step needs several reviewers, this is a vote. With an agent's key, it's a suggestion."],
  arguments: {
    span: { description: 'The ID of the span. Default: the one that `review next` showed.', isOptional: true },
  },
  options: decisionOptions,
  examples: [
    ['countersign review accept', 'Accept what was shown last'],
    ['countersign review accept --comment "Checked against the doc"', 'Say why'],
  ],
  scopes: ['review'],
  json: 'the span as in `PUT /api/spans/{spanId}/review`',
  async run({ out, environment, connect }, { arguments: { span }, options }) {
    const connection = await connect()
    const { spanId, etag } = await spanToReview(environment, connection.url, span)
    const reviewed = await decide(connection, spanId, options.ifMatch ?? etag, { decision: 'accept' }, options)
    await out.json(reviewed)
    await printDecision(out, reviewed)
    return 'ok'
  },
})
