import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { describe } from '../../errors.ts'
import { readAll } from '../ask.ts'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { Failure, faultOf, invalid } from '../failure.ts'
import { decide, decisionOptions, printDecision } from '../review/decide.ts'
import { edit } from '../review/edit.ts'
import { spanToReview } from '../review/shown.ts'

export const reviewCorrect = defineCommand({
  name: 'review correct',
  summary: 'Approve a different output',
  description: [
    'Opens the output in your editor (VISUAL or EDITOR), and approves what you save. You can also pass the approved output in a file or on stdin: as JSON or, with `--text`, as plain text.',
    "If it doesn't match the step's schema, the errors name the fields, and your text is kept in a file.",
  ],
  arguments: {
    span: { description: 'The ID of the span. Default: the one that `review next` showed.', isOptional: true },
  },
  options: {
    file: { type: 'text', value: 'file', description: 'The file with the approved output. `-` is stdin.' },
    text: { type: 'flag', description: 'The file or stdin is plain text, not JSON.' },
    ...decisionOptions,
  },
  examples: [
    ['countersign review correct', 'Edit what was shown last'],
    ['countersign review correct --file answer.json --error-type outdated_reference', 'Take it from a file'],
  ],
  scopes: ['review', 'read'],
  json: 'the span as in `PUT /api/spans/{spanId}/review`',
  async run(context, { arguments: { span }, options }) {
    const { out, environment, stdin, connect } = context
    const connection = await connect()
    const { spanId, etag } = await spanToReview(environment, connection.url, span)
    if (options.file !== undefined || !stdin.isTTY) {
      const approvedOutput = parseValue(await readSource(context, options.file ?? '-'), options.text)
      const ifMatch = options.ifMatch ?? etag
      const reviewed = await decide(connection, spanId, ifMatch, { decision: 'correct', approvedOutput }, options)
      await out.json(reviewed)
      await printDecision(out, reviewed)
      return 'ok'
    }
    const current = await (await connection.client()).spans.get(spanId)
    // The decision is only for the output that `review next` showed, even if the editor now opens with a newer output.
    const ifMatch = options.ifMatch ?? etag ?? current.etag
    const isText = typeof current.output === 'string'
    const draft = await edit(
      context,
      isText ? String(current.output) : JSON.stringify(current.output, undefined, 2),
      isText,
    )
    try {
      const approvedOutput = parseValue(draft.text, isText)
      const reviewed = await decide(connection, spanId, ifMatch, { decision: 'correct', approvedOutput }, options)
      await draft.discard()
      await out.json(reviewed)
      await printDecision(out, reviewed)
      return 'ok'
    } catch (error) {
      const { ending, code, message, details, fields, hint } = faultOf(error)
      const kept = `Your text is in ${draft.file}: to use it, add --file ${draft.file}${isText ? ' --text' : ''}`
      throw new Failure(ending, code, message, {
        details,
        fields,
        hint: [hint, kept].filter(Boolean).join('\n'),
        cause: error,
      })
    }
  },
})

async function readSource({ stdin, directory }: Context, file: string): Promise<string> {
  if (file === '-') return readAll(stdin)
  return readFile(resolve(directory, file), 'utf8').catch(error => {
    throw invalid(`${file} can't be read: ${describe(error).message}`)
  })
}

function parseValue(text: string, isText: boolean): unknown {
  if (isText) return text
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(`The approved output isn't JSON: ${describe(error).message}`, "If it's plain text, add --text.")
  }
}
