import { hashOf, uuidV5 } from './ids.ts'
import { shortName } from './judgment.ts'
import { fittedMetadata } from './metadata.ts'
import { type Converter, Reader, type Target } from './source.ts'
import { type Fields, fieldsOf, isEmpty, isFields, isoTime, numberOf, textOf, timeOf, type Value } from './values.ts'

/*
 * Countersign's own records: events as in `POST /api/v1/batch`, traces and spans as exports contain them, and traces as
 * `traces show --json` prints them.
 */

export const jsonl: Converter = {
  knows: record => isEnd(record) || isEvent(record) || isSpan(record) || isTrace(record),

  async content(record, to) {
    if (isEvent(record)) await addEvent(record, ['trace'], to)
    else if (isSpan(record)) await addTraceOfRoot(record, to)
    else if (isTrace(record)) await addTrace(record, to)
  },

  async parts(record, to) {
    if (isEvent(record)) await addEvent(record, ['span', 'observation'], to)
    else if (isSpan(record)) await addSpan(record, textOf(fieldsOf(record.trace)?.traceId) ?? '', to)
    else if (isTrace(record))
      for (const span of listOf(record.spans)) await addSpan(span, textOf(record.traceId) ?? '', to)
  },

  async judgments(record, to) {
    if (isEvent(record)) await addFeedbackEvent(record, to)
    else if (isSpan(record)) await addReview(record, textOf(fieldsOf(record.trace)?.traceId) ?? '', to)
    else if (isTrace(record)) {
      const traceId = textOf(record.traceId) ?? ''
      for (const span of listOf(record.spans)) await addReview(span, traceId, to)
      for (const feedback of listOf(record.feedback)) await addFeedback(feedback, traceId, rootOf(record), to)
    }
  },
}

/** The last line of a complete export. */
const isEnd = (record: Fields): boolean => record.end === true && typeof record.items === 'number'
type EventBodyType = 'trace' | 'span' | 'observation'

const EVENTS = ['trace', 'span', 'observation', 'feedback']
const isEvent = (record: Fields): boolean => EVENTS.includes(textOf(record.type) ?? '') && isFields(record.body)
const isSpan = (record: Fields): boolean => isFields(record.trace) && !isEmpty(record.stepId)
const isTrace = (record: Fields): boolean =>
  !isEmpty(record.traceId) && !isEmpty(record.createdAt) && !isEmpty(record.status)

const listOf = (value: Value | undefined): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** An observation without an id gets one that's derived from its content, so that a second import recognizes it. */
async function addEvent(record: Fields, types: readonly EventBodyType[], to: Target): Promise<void> {
  const body = fieldsOf(record.body) ?? {}
  const type = types.find(type => type === record.type)
  if (type === undefined) return
  const id = textOf(body.span_id) ?? textOf(body.trace_id) ?? ''
  to.name(type, id)
  const isNamed = type !== 'observation' || !isEmpty(body.observation_id)
  await to.event(type, isNamed ? body : { ...body, observation_id: await contentId(body, to) })
}

const contentId = async (body: Fields, to: Target): Promise<string> =>
  uuidV5(to.projectId, `import:${await hashOf(JSON.stringify(body))}`)

async function addFeedbackEvent(record: Fields, to: Target): Promise<void> {
  if (record.type !== 'feedback') return
  const body = fieldsOf(record.body) ?? {}
  const id = textOf(body.feedback_id) ?? (await contentId(body, to))
  to.name('feedback', id)
  await to.feedback({ trace_id: '', ...body, feedback_id: id, source: 'import' })
}

async function addTrace(record: Fields, to: Target): Promise<void> {
  const traceId = textOf(record.traceId) ?? ''
  to.name('trace', traceId)
  const fields = new Reader(record)
  const time = timeOf(fields.take('createdAt'))
  if (time === undefined) return to.fail('createdAt isn’t a time')
  // The service computes these fields from spans, feedback, and decisions.
  fields.skip(...COMPUTED)
  const metadata = fieldsOf(fields.take('metadata')) ?? {}
  const duration = numberOf(fields.take('durationMs'))
  await to.trace({
    trace_id: traceId,
    name: shortName(to, textOf(fields.take('name')) ?? 'trace', 'name'),
    timestamp: isoTime(time),
    status: fields.take('status') === 'running' ? 'running' : 'completed',
    metadata: fittedMetadata(metadata, to),
    ...(duration !== undefined && fields.take('status') === 'completed' && { duration_ms: duration }),
  })
  for (const left of fields.left) to.unplaced(left)
  const isListed = record.spans === undefined && (numberOf(record.spanCount) !== 1 || !isEmpty(record.inputPreview))
  if (isListed) to.unplaced('spans', 'the export lists traces without them: import an export of spans too')
}

/** Adds the trace that a root belongs to. An export of spans has no other data about the trace. */
async function addTraceOfRoot(record: Fields, to: Target): Promise<void> {
  const time = timeOf(record.createdAt)
  if (!isEmpty(record.parentSpanId) || time === undefined) return
  const trace = fieldsOf(record.trace)
  to.name('span', textOf(record.id) ?? '')
  await to.trace({
    trace_id: textOf(trace?.traceId) ?? '',
    name: shortName(to, textOf(trace?.name) ?? 'trace', 'name'),
    timestamp: isoTime(time),
    status: 'completed',
    metadata: fittedMetadata(fieldsOf(record.metadata) ?? {}, to),
  })
}

const COMPUTED = [
  ...['id', 'traceId', 'updatedAt', 'receivedAt', 'spanCount', 'reviewedCount', 'staleCount', 'feedbackCount'],
  ...['reviewState', 'errorType', 'errorTypeBy', 'inputPreview', 'outputPreview', 'model', 'usage', 'costUsd'],
  ...['project', 'spans', 'feedback', 'nextSpanCursor', 'nextFeedbackCursor', 'truncated', 'matches', 'needsReview'],
  ...['isNegative', 'rootSpanId', 'groupId', 'engineAnswer', 'warnings'],
]

/** A root's values become the trace's own. Other spans keep their ids. */
async function addSpan(record: Fields, traceId: string, to: Target): Promise<void> {
  const id = textOf(record.id) ?? ''
  to.name('span', id)
  const fields = new Reader(record)
  const time = timeOf(fields.take('createdAt'))
  if (time === undefined) return to.fail('createdAt isn’t a time')
  fields.skip(
    'claim',
    'id',
    'trace',
    'updatedAt',
    'receivedAt',
    'etag',
    'matches',
    'assignees',
    'reviewers',
    'isDisputed',
    'isReviewable',
  )
  fields.skip('review', 'approvedOutput', 'kind')
  const values = { input: fields.take('input'), output: fields.take('output') }
  const state = fieldsOf(fields.take('state')) ?? {}
  const cut = Array.isArray(record.truncated) ? record.truncated : []
  fields.skip('truncated')
  for (const field of cut) to.unplaced(String(field), 'only a preview is in the file')
  const step = textOf(fields.take('stepId')) ?? 'step'
  const metadata = fieldsOf(fields.take('metadata'))
  const timestamp = isoTime(time)
  const isRoot = isEmpty(fields.take('parentSpanId'))
  const observed = [
    ...(isRoot ? Object.entries(values).map(([type, data]) => ({ type, key: undefined, data })) : []),
    ...Object.entries(state).map(([key, data]) => ({ type: 'state', key, data })),
  ]
  if (isRoot) fields.skip('status', 'durationMs')
  else {
    await to.event('span', {
      trace_id: traceId,
      span_id: id,
      parent_span_id: record.parentSpanId,
      step_id: step,
      ...values,
      metadata: fittedMetadata(metadata ?? {}, to),
      timestamp,
      duration_ms: fields.take('durationMs'),
      status: fields.take('status'),
      model: fields.take('model'),
      provider: fields.take('provider'),
      usage: snakeCased(fieldsOf(fields.take('usage'))),
      cost_usd: fields.take('costUsd'),
    })
  }
  for (const { type, key, data } of observed) {
    if (data === undefined || data === null || cut.includes(key === undefined ? type : `state.${key}`)) continue
    await to.event('observation', {
      trace_id: traceId,
      observation_id: await uuidV5(to.projectId, `import:${id}:${type}:${key ?? ''}`),
      ...(!isRoot && { span_id: id }),
      type,
      key,
      data,
      timestamp,
    })
  }
  for (const left of fields.left) to.unplaced(left)
}

const snakeCased = (fields: Fields | undefined): Fields | undefined =>
  fields &&
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      value,
    ]),
  )

/** The id of a trace's root in the project that the trace was exported from. */
const rootOf = (trace: Fields): string | undefined =>
  textOf(listOf(trace.spans).find(span => isEmpty(span.parentSpanId))?.id)

/** Adds the current decision on a span. The file has only the reviewer's id, but the import needs an email. */
async function addReview(record: Fields, traceId: string, to: Target): Promise<void> {
  const review = fieldsOf(record.review)
  const state = textOf(review?.state)
  // A root that shares its text with a span only repeats that span's decision.
  if (!review || (state !== 'accepted' && state !== 'corrected') || !isEmpty(review.reviewedBy)) return
  const id = textOf(record.id) ?? ''
  to.name('review', id)
  const [by, at] = [to.users.emailOf(textOf(review.by)), timeOf(review.at)]
  if (by === undefined || at === undefined)
    return to.unplaced(undefined, `its reviewer ${textOf(review.by) ?? ''} has no known email`)
  const comment = textOf(review.comment)
  await to.review({
    spanId: isEmpty(record.parentSpanId) ? await uuidV5(to.projectId, `root:${traceId}`) : id,
    decision: state === 'accepted' ? 'accept' : 'correct',
    ...(state === 'corrected' && { approvedOutput: record.approvedOutput ?? null }),
    ...(comment !== undefined && { comment }),
    by,
    at,
  })
}

async function addFeedback(record: Fields, traceId: string, rootId: string | undefined, to: Target): Promise<void> {
  const fields = new Reader(record)
  const id = textOf(fields.take('id')) ?? ''
  to.name('feedback', id)
  // A decision's comment is imported with the decision.
  if (fields.take('source') === 'review') return
  fields.skip('userId', 'receivedAt', 'truncated')
  const time = timeOf(fields.take('createdAt'))
  const spanId = textOf(fields.take('spanId'))
  const rating = fields.take('rating')
  const labeller = fieldsOf(fields.take('labeller'))
  await to.feedback({
    trace_id: traceId,
    feedback_id: id,
    span_id: spanId === rootId ? undefined : spanId,
    name: textOf(fields.take('name')),
    rating: rating === 'positive' || rating === 'negative' || typeof rating === 'number' ? rating : undefined,
    comment: textOf(fields.take('content')),
    correction: fieldsOf(fields.take('correction')),
    labeller: labeller && { name: textOf(labeller.name), email: textOf(labeller.email) },
    timestamp: time === undefined ? undefined : isoTime(time),
    source: 'import',
  })
  for (const left of fields.left) to.unplaced(left)
}
