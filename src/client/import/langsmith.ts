import { addJudgment } from './judgment.ts'
import { type Converter, Reader } from './source.ts'
import {
  asText,
  type Fields,
  fieldsOf,
  isEmpty,
  numberOf,
  parsedText,
  textOf,
  textsOf,
  timeOf,
  type Value,
} from './values.ts'

/*
 * LangSmith's runs and feedback: as its API and SDKs return them, and the rows of its bulk export. Source: `schemas.py`
 * of langsmith 0.4 and later, and docs.langchain.com/langsmith/run-data-format.
 */

export const langsmith: Converter = {
  knows: record => isRun(record) || isFeedback(record),

  async content(record, to) {
    if (!isRun(record)) return
    const fields = new Reader(record)
    const id = textOf(fields.take('id')) ?? ''
    to.name('run', id)
    const start = timeOf(fields.take('start_time'))
    if (start === undefined) return to.fail('start_time isn’t a time')
    fields.skip(...REPEATED)
    const extra = new Reader(fieldsOf(fields.take('extra')) ?? {})
    const metadata = fieldsOf(extra.take('metadata')) ?? {}
    const invocation = fieldsOf(extra.take('invocation_params'))
    // The SDK's description of the machine that it ran on.
    extra.skip('runtime')
    const outputs = parsed(fields.take('outputs'))
    const name = textOf(fields.take('name')) ?? 'run'
    const error = textOf(fields.take('error'))
    const end = timeOf(fields.take('end_time'))
    fields.take('parent_run_id', 'dotted_order', 'trace_id', 'status')
    await to.span({
      traceId: traceOf(record),
      spanId: id,
      parentId: parentOf(record),
      name,
      start,
      end,
      attributes: {
        'langsmith.trace.name': name,
        'langsmith.span.kind': fields.take('run_type'),
        'langsmith.span.tags': textsOf(parsed(fields.take('tags'))),
        'langsmith.metadata.thread_id': fields.take('thread_id'),
        'langsmith.trace.session_name': fields.take('session_name'),
        'langsmith.reference_example_id': fields.take('reference_example_id'),
        'langsmith.usage_metadata': usageOf(fields, fieldsOf(outputs)),
        'langsmith.metadata.invocation_params': invocation,
        'langsmith.first_token_time': fields.take('first_token_time'),
        ...Object.fromEntries(
          Object.entries(metadata).map(([key, value]) => [`langsmith.metadata.${key}`, value] as const),
        ),
        'gen_ai.prompt': textOrNone(parsed(fields.take('inputs'))),
        'gen_ai.completion': textOrNone(outputs),
      },
      status: error === undefined ? (end === undefined ? undefined : 'ok') : 'error',
      statusMessage: error,
      events: error === undefined ? [] : [{ name: 'exception', time: end ?? start, attributes: exceptionOf(error) }],
    })
    for (const left of fields.left) to.unplaced(left)
    for (const left of extra.left) to.unplaced(`extra.${left}`)
  },

  async judgments(record, to) {
    if (isRun(record) || !isFeedback(record)) return
    const fields = new Reader(record)
    const id = textOf(fields.take('id')) ?? ''
    to.name('feedback', id)
    const runId = textOf(fields.take('run_id'))
    const traceId = textOf(fields.take('trace_id')) ?? (runId === undefined ? undefined : to.index.traceOf(runId))
    if (runId === undefined && traceId === undefined) return to.unplaced(undefined, 'belongs to a whole project')
    if (traceId === undefined) return to.fail('Its run isn’t in the imported files, so its trace is unknown')
    fields.skip('modified_at', 'session_id', 'start_time')
    const source = new Reader(fieldsOf(fields.take('feedback_source')) ?? {})
    const [user, name] = [textOf(source.take('user_id', 'ls_user_id')), textOf(source.take('user_name'))]
    const type = textOf(source.take('type'))
    const value = fields.take('value')
    const score = fields.take('score')
    await addJudgment(
      to,
      {
        id,
        traceId,
        spanId: runId,
        name: textOf(fields.take('key')),
        score,
        label: value === undefined || value === score ? undefined : asText(value),
        comment: textOf(fields.take('comment')),
        correction: parsed(fields.take('correction')),
        judges: [user, name],
        author: name ?? user ?? type,
        time: timeOf(fields.take('created_at')),
      },
      { score: score === undefined ? 'value' : 'score', correction: 'correction', comment: 'comment', name: 'key' },
    )
    for (const left of fields.left) to.unplaced(left)
    for (const left of source.left) to.unplaced(`feedback_source.${left}`)
  },

  locate(record, index) {
    const runId = textOf(record.run_id)
    if (isRun(record)) index.found(textOf(record.id) ?? '', traceOf(record))
    else if (isFeedback(record) && isEmpty(record.trace_id) && runId !== undefined) index.want(runId)
  },
}

const isRun = (record: Fields): boolean => textOf(record.id) !== undefined && !isEmpty(record.run_type)
const isFeedback = (record: Fields): boolean => textOf(record.id) !== undefined && !isEmpty(record.key)

/** Fields that repeat others: ids of relatives, sums, addresses of values, and LangSmith's bookkeeping. */
const REPEATED = [
  ...['session_id', 'tenant_id', 'app_path', 'manifest_id', 'manifest_s3_id', 'child_run_ids', 'direct_child_run_ids'],
  ...['parent_run_ids', 'last_queued_at', 'execution_order', 'in_dataset', 'is_root', 'latency', 'share_token'],
  ...['inputs_preview', 'outputs_preview', 'inputs_s3_urls', 'outputs_s3_urls', 's3_urls', 'price_model_id'],
  ...[
    'trace_tier',
    'trace_upgrade',
    'ttl_seconds',
    'trace_first_received_at',
    'trace_min_start_time',
    'trace_max_start_time',
  ],
  ...['prompt_cost_details', 'completion_cost_details'],
]

/** The root's run has the trace's id. */
const traceOf = (record: Fields): string =>
  textOf(record.trace_id) ?? idsIn(record.dotted_order)[0] ?? textOf(record.id) ?? ''

const parentOf = (record: Fields): string | undefined =>
  textOf(record.parent_run_id) ?? idsIn(record.dotted_order).at(-2)

/** The ids in a `dotted_order`: each part is a time, Z, and a run's id. */
const idsIn = (order: Value | undefined): string[] =>
  (textOf(order) ?? '').split('.').flatMap(part => (part.includes('Z') ? [part.slice(part.indexOf('Z') + 1)] : []))

/** Bulk exports contain objects as JSON strings. */
const parsed = (value: Value | undefined): Value | undefined => (typeof value === 'string' ? parsedText(value) : value)

const textOrNone = (value: Value | undefined): string | undefined => (value === undefined ? undefined : asText(value))

/**
 * A run's tokens and cost, in the form in which LangSmith's SDKs send them. Values that the call returned take
 * precedence.
 */
function usageOf(fields: Reader, outputs: Fields | undefined): Fields | undefined {
  const counted: [string, Value | undefined][] = [
    ['input_tokens', numberOf(fields.take('prompt_tokens'))],
    ['output_tokens', numberOf(fields.take('completion_tokens'))],
    ['total_tokens', numberOf(fields.take('total_tokens'))],
    ['input_token_details', fieldsOf(fields.take('prompt_token_details'))],
    ['output_token_details', fieldsOf(fields.take('completion_token_details'))],
    ['input_cost', numberOf(fields.take('prompt_cost'))],
    ['output_cost', numberOf(fields.take('completion_cost'))],
    ['total_cost', numberOf(fields.take('total_cost'))],
  ]
  const usage = {
    ...Object.fromEntries(counted.filter(([, value]) => !isEmpty(value))),
    ...fieldsOf(outputs?.usage_metadata),
  }
  return isEmpty(usage) ? undefined : usage
}

/** LangSmith stores an error as one string, which begins with the type: "ValueError('No answer')". */
function exceptionOf(error: string): Fields {
  const [, type] = /^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\b/.exec(error) ?? []
  return { ...(type !== undefined && { 'exception.type': type }), 'exception.message': error }
}
