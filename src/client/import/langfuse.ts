import { hashOf, traceIdOf, uuidV5 } from './ids.ts'
import { addJudgment, shortName } from './judgment.ts'
import { fittedMetadata } from './metadata.ts'
import { type Converter, Reader, type Target } from './source.ts'
import {
  asText,
  type Fields,
  fieldsOf,
  isEmpty,
  isFields,
  isoTime,
  numberOf,
  parsedText,
  textOf,
  timeOf,
  type Value,
} from './values.ts'

/*
 * Langfuse's traces, observations, and scores: as its API returns them and its app exports them (camel case), and as it
 * writes them to blob storage (snake case). Source: langfuse.com/docs, "Blob Storage Export Field Reference", and the
 * API's types in langfuse 4 for Python.
 */

export const langfuse: Converter = {
  knows(given) {
    const record = camelCased(given)
    return isObservation(record) || isTrace(record) || isScore(record)
  },

  async content(given, to) {
    const record = camelCased(given)
    if (isObservation(record)) await addObservation(record, to)
    else if (isTrace(record)) await addTrace(record, to)
  },

  async parts(given, to) {
    const record = camelCased(given)
    if (isTrace(record)) await addRootValues(record, to)
  },

  async judgments(given, to) {
    const record = camelCased(given)
    if (isTrace(record)) for (const score of listOf(record.scores)) await addScore(camelCased(score), to)
    else if (isScore(record)) await addScore(record, to)
  },
}

const TYPES = new Set([
  ...['SPAN', 'GENERATION', 'EVENT', 'AGENT', 'TOOL', 'CHAIN'],
  ...['RETRIEVER', 'EVALUATOR', 'EMBEDDING', 'GUARDRAIL'],
])

const SOURCES = new Set(['API', 'ANNOTATION', 'EVAL'])

const isObservation = (record: Fields): boolean => TYPES.has(textOf(record.type) ?? '') && !isEmpty(record.startTime)
const isScore = (record: Fields): boolean =>
  !isEmpty(record.name) &&
  isEmpty(record.startTime) &&
  (!isEmpty(record.dataType) || SOURCES.has(textOf(record.source) ?? ''))
const isTrace = (record: Fields): boolean =>
  textOf(record.id) !== undefined && !isEmpty(record.timestamp) && isEmpty(record.traceId) && !isScore(record)

/** The record with camel-case field names, which both forms of an export then share. Values stay as they are. */
const camelCased = (record: Fields): Fields =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
      value,
    ]),
  )

/** The objects in a list. A trace contains either its observations and scores or only their ids. */
const listOf = (value: Value | undefined): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

async function addTrace(record: Fields, to: Target): Promise<void> {
  const id = textOf(record.id) ?? ''
  to.name('trace', id)
  const fields = new Reader(record)
  const time = timeOf(fields.take('timestamp'))
  if (time === undefined) return to.fail('timestamp isn’t a time')
  // Sums over the observations, and Langfuse's own bookkeeping.
  fields.skip('id', 'projectId', 'createdAt', 'updatedAt', 'externalId', 'observations', 'scores')
  fields.skip('latency', 'totalCost', 'htmlPath', 'bookmarked', 'public', 'input', 'output')
  const traceId = await traceIdOf(id)
  const given = fields.take('metadata')
  const metadata = fieldsOf(given) ?? (isEmpty(given) ? {} : { metadata: given })
  const own = {
    group_id: fields.take('sessionId'),
    user_id: fields.take('userId'),
    tags: fields.take('tags'),
    environment: fields.take('environment'),
    release: fields.take('release'),
    version: fields.take('version'),
    ...(traceId !== `trace_${id}` && { langfuse_trace_id: id }),
  }
  await to.trace({
    trace_id: traceId,
    name: shortName(to, textOf(fields.take('name')) ?? 'trace', 'name'),
    timestamp: isoTime(time),
    status: 'completed',
    metadata: fittedMetadata({ ...metadata, ...withoutEmpty(own) }, to),
  })
  for (const left of fields.left) to.unplaced(left)
  for (const observation of listOf(record.observations)) await addObservation(camelCased(observation), to)
}

/** The input and output of the trace itself. Its observations have their own. */
async function addRootValues(record: Fields, to: Target): Promise<void> {
  const id = textOf(record.id) ?? ''
  to.name('trace', id)
  const time = timeOf(record.timestamp)
  if (time === undefined) return
  const traceId = await traceIdOf(id)
  for (const type of ['input', 'output']) {
    const value = record[type]
    if (isEmpty(value)) continue
    await to.event('observation', {
      trace_id: traceId,
      observation_id: await uuidV5(to.projectId, `import:${traceId}:${type}`),
      type,
      data: typeof value === 'string' ? parsedText(value) : value,
      timestamp: isoTime(time),
    })
  }
}

const withoutEmpty = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))

async function addObservation(record: Fields, to: Target): Promise<void> {
  const fields = new Reader(record)
  const [id, traceId] = [textOf(fields.take('id')), textOf(fields.take('traceId'))]
  to.name('observation', id ?? '')
  if (id === undefined || traceId === undefined) return to.fail('id or traceId is missing')
  const start = timeOf(fields.take('startTime'))
  if (start === undefined) return to.fail('startTime isn’t a time')
  fields.skip(...DERIVED)
  const level = textOf(fields.take('level'))
  const message = textOf(fields.take('statusMessage'))
  const metadata = fields.take('metadata')
  const traceMetadata = fields.take('traceMetadata')
  const name = textOf(fields.take('name'))
  const [parentId, type] = [textOf(fields.take('parentObservationId')), textOf(fields.take('type')) ?? 'SPAN']
  await to.span({
    traceId,
    spanId: id,
    parentId,
    name: name ?? type.toLowerCase(),
    start,
    end: timeOf(fields.take('endTime')),
    attributes: {
      'langfuse.observation.type': type.toLowerCase(),
      'langfuse.observation.input': textOrNone(fields.take('input')),
      'langfuse.observation.output': textOrNone(fields.take('output')),
      'langfuse.observation.metadata': isEmpty(metadata) ? undefined : textOrNone(metadata),
      'langfuse.observation.level': level,
      'langfuse.observation.status_message': message,
      'langfuse.observation.model.name': fields.take('providedModelName', 'model'),
      'langfuse.observation.model.parameters': textOrNone(fields.take('modelParameters')),
      'langfuse.observation.usage_details': usageOf(fields),
      'langfuse.observation.cost_details': costOf(fields),
      'langfuse.observation.completion_start_time': fields.take('completionStartTime'),
      'langfuse.observation.prompt.name': fields.take('promptName'),
      'langfuse.observation.prompt.version': fields.take('promptVersion'),
      'langfuse.observation.tool_definitions': textOrNone(fields.take('toolDefinitions')),
      'langfuse.version': fields.take('version'),
      'langfuse.environment': fields.take('environment'),
      'langfuse.release': fields.take('release'),
      'langfuse.trace.name': fields.take('traceName'),
      'langfuse.trace.tags': fields.take('tags'),
      'langfuse.trace.metadata': isEmpty(traceMetadata) ? undefined : textOrNone(traceMetadata),
      'session.id': fields.take('sessionId'),
      'user.id': fields.take('userId'),
    },
    status: level === 'ERROR' ? 'error' : undefined,
    statusMessage: level === 'ERROR' ? message : undefined,
  })
  for (const left of fields.left) to.unplaced(left)
}

/** What Langfuse computes from other fields, and its own bookkeeping. Tool calls are in the output. */
const DERIVED = [
  ...['projectId', 'createdAt', 'updatedAt', 'latency', 'timeToFirstToken', 'modelId', 'internalModelId', 'promptId'],
  ...['usagePricingTierId', 'usagePricingTierName', 'inputPrice', 'outputPrice', 'totalPrice', 'unit'],
  ...['toolCalls', 'toolCallNames', 'bookmarked', 'public', 'isRootObservation', 'calculatedInputCost'],
  ...['calculatedOutputCost', 'inputCost', 'outputCost'],
]

const textOrNone = (value: Value | undefined): string | undefined =>
  value === undefined || value === null ? undefined : asText(value)

/** The tokens by kind. Older APIs have them in separate fields. */
function usageOf(fields: Reader): Fields | undefined {
  const details = fieldsOf(fields.take('usageDetails'))
  const usage = fieldsOf(fields.take('usage'))
  const counts: [string, number | undefined][] = [
    ['input', numberOf(fields.take('promptTokens', 'inputUsage')) ?? numberOf(usage?.input)],
    ['output', numberOf(fields.take('completionTokens', 'outputUsage')) ?? numberOf(usage?.output)],
    ['total', numberOf(fields.take('totalTokens', 'totalUsage')) ?? numberOf(usage?.total)],
  ]
  if (details && !isEmpty(details)) return details
  const known = counts.filter(([, count]) => count !== undefined && count > 0)
  return known.length > 0 ? Object.fromEntries(known) : undefined
}

/** The cost by kind, or only its sum. */
function costOf(fields: Reader): Fields | undefined {
  const details = fieldsOf(fields.take('costDetails'))
  const total = numberOf(fields.take('totalCost', 'calculatedTotalCost'))
  if (details && !isEmpty(details)) return details
  return total !== undefined && total > 0 ? { total } : undefined
}

async function addScore(record: Fields, to: Target): Promise<void> {
  const fields = new Reader(record)
  const id = textOf(fields.take('id')) ?? ''
  to.name('score', id)
  // The newest API has the ids in a separate object.
  const subject = fieldsOf(fields.take('subject'))
  const isOfObservation = textOf(subject?.kind) === 'observation'
  const traceId =
    textOf(fields.take('traceId')) ??
    textOf(subject?.traceId) ??
    (textOf(subject?.kind) === 'trace' ? textOf(subject?.id) : undefined)
  const spanId = textOf(fields.take('observationId')) ?? (isOfObservation ? textOf(subject?.id) : undefined)
  if (traceId === undefined) return to.unplaced(undefined, 'belongs to a session or an experiment')
  fields.skip('projectId', 'createdAt', 'updatedAt', 'sessionId', 'trace', 'environment')
  const type = textOf(fields.take('dataType')) ?? 'NUMERIC'
  const [value, text] = [fields.take('value'), fields.take('stringValue')]
  const said = text ?? value
  const number = type === 'CATEGORICAL' || type === 'TEXT' ? undefined : numberOf(value)
  const score = type === 'BOOLEAN' ? (truthOf(value) ?? truthOf(text)) : number
  const isWord = score === undefined && type !== 'CORRECTION'
  const author = textOf(fields.take('authorUserId'))
  const source = textOf(fields.take('source'))
  await addJudgment(
    to,
    {
      id: id === '' ? (await hashOf(JSON.stringify(record))).slice(0, 32) : id,
      traceId,
      spanId,
      name: textOf(fields.take('name')),
      score: type === 'CORRECTION' ? undefined : score,
      label: isWord && said !== undefined ? asText(said) : undefined,
      comment: textOf(fields.take('comment')),
      correction: type === 'CORRECTION' ? parsedCorrection(said) : undefined,
      judges: [author],
      author: author ?? source?.toLowerCase(),
      time: timeOf(fields.take('timestamp')),
    },
    {
      score: isWord && text !== undefined ? 'stringValue' : 'value',
      correction: 'stringValue',
      comment: 'comment',
      name: 'name',
    },
  )
  for (const left of fields.left) to.unplaced(left)
}

const parsedCorrection = (value: Value | undefined): Value | undefined =>
  typeof value === 'string' ? parsedText(value) : value

/** Whether a boolean score means yes. The score may be a number or text. */
function truthOf(value: Value | undefined): boolean | undefined {
  if (typeof value === 'boolean') return value
  const [, yes, no] = /^(?:(true|1)|(false|0))$/i.exec(String(value)) ?? []
  return yes !== undefined ? true : no !== undefined ? false : undefined
}
