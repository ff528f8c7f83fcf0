import { addJudgment } from './judgment.ts'
import { type Converter, Reader, type Target } from './source.ts'
import type { ImportedEvent } from './telemetry.ts'
import { type Fields, fieldsOf, isEmpty, isFields, textOf, timeOf, type Value } from './values.ts'

/*
 * Phoenix's spans and annotations: as its REST API returns them, and as its Python client writes them from dataframes.
 * The attributes are OpenInference's, which the service also reads in telemetry. Source: exports of Phoenix 20.26.
 */

export const phoenix: Converter = {
  knows(given) {
    const record = nested(given)
    return placeOf(record) !== undefined || isAnnotation(record)
  },

  async content(given, to) {
    const record = nested(given)
    const place = placeOf(record)
    if (!place) return
    const { traceId, spanId } = place
    to.name('span', spanId)
    const fields = new Reader(record)
    // The id is a row's number in Phoenix, and the cumulative counts are sums over a span's children.
    fields.skip('id', 'context')
    for (const name of Object.keys(record)) if (name.startsWith('cumulative_')) fields.skip(name)
    const start = timeOf(fields.take('start_time'))
    if (start === undefined) return to.fail('start_time isn’t a time')
    const code = textOf(fields.take('status_code'))
    await to.span({
      traceId,
      spanId,
      parentId: textOf(fields.take('parent_id')),
      name: textOf(fields.take('name')) ?? 'span',
      start,
      end: timeOf(fields.take('end_time')),
      attributes: {
        ...attributesOf(fieldsOf(fields.take('attributes')) ?? {}),
        'openinference.span.kind': fields.take('span_kind'),
      },
      status: code === 'OK' ? 'ok' : code === 'ERROR' ? 'error' : undefined,
      statusMessage: textOf(fields.take('status_message')),
      events: eventsOf(fields.take('events'), to),
    })
    for (const name of fields.left) to.unplaced(name)
  },

  async judgments(given, to) {
    const record = nested(given)
    if (placeOf(record) || !isAnnotation(record)) return
    const fields = new Reader(record)
    const name = textOf(fields.take('name', 'annotation_name'))
    const identifier = textOf(fields.take('identifier'))
    const spanId = textOf(fields.take('span_id')) ?? textOf(fieldsOf(fields.take('context'))?.span_id)
    const givenTrace = textOf(fields.take('trace_id'))
    // Phoenix numbers its annotations, but different servers use the same numbers. Together, these fields are unique
    // across servers.
    const id = [spanId ?? givenTrace ?? '', name ?? '', identifier ?? ''].join(':')
    to.name('annotation', id)
    const other = fields.take('session_id', 'document_position')
    if (other !== undefined) return to.unplaced(undefined, 'belongs to a session or a document')
    const traceId = givenTrace ?? (spanId === undefined ? undefined : to.index.traceOf(spanId))
    if (traceId === undefined) return to.fail('Its span isn’t in the imported files, so its trace is unknown')
    fields.skip('id', 'updated_at', 'source')
    const result = new Reader(fieldsOf(fields.take('result')) ?? {})
    const kind = textOf(fields.take('annotator_kind'))
    const user = textOf(fields.take('user_id'))
    await addJudgment(
      to,
      {
        id,
        traceId,
        spanId,
        name,
        score: result.take('score'),
        label: textOf(result.take('label')),
        comment: textOf(result.take('explanation')),
        correction: undefined,
        judges: [user, identifier],
        author: identifier ?? user ?? kind?.toLowerCase(),
        time: timeOf(fields.take('created_at')),
      },
      { score: 'result.score', correction: 'result', comment: 'result.explanation', name: 'name' },
    )
    for (const left of fields.left) to.unplaced(left)
    for (const left of result.left) to.unplaced(`result.${left}`)
  },

  locate(given, index) {
    const record = nested(given)
    const place = placeOf(record)
    if (place) index.found(place.spanId, place.traceId)
    else if (isAnnotation(record) && isEmpty(record.trace_id)) {
      const spanId = textOf(record.span_id) ?? textOf(fieldsOf(record.context)?.span_id)
      if (spanId !== undefined) index.want(spanId)
    }
  },
}

/** A span's ids. Undefined if the record is something else: annotations may also have ids. */
function placeOf({ context, start_time }: Fields): { traceId: string; spanId: string } | undefined {
  const [traceId, spanId] = [textOf(fieldsOf(context)?.trace_id), textOf(fieldsOf(context)?.span_id)]
  return traceId === undefined || spanId === undefined || isEmpty(start_time) ? undefined : { traceId, spanId }
}

const isAnnotation = (record: Fields): boolean =>
  !isEmpty(record.annotator_kind) || (isFields(record.result) && !isEmpty(record.name ?? record.annotation_name))

/** Undoes what dataframes do to records: they join the names of nested fields with dots. */
function nested(record: Fields): Fields {
  if (!Object.keys(record).some(name => /^(?:context|attributes|result)\./.test(name))) return record
  const groups: Record<string, Fields> = {}
  const whole: Fields = {}
  for (const [name, value] of Object.entries(record)) {
    const [, group, rest] = /^(context|attributes|result)\.(.+)$/s.exec(name) ?? []
    if (group === undefined || rest === undefined) whole[name] = value
    else groups[group] = { ...groups[group], [rest]: value }
  }
  return { ...whole, ...groups }
}

/**
 * OpenInference's attributes. An instrumentation sends its metadata as one JSON string, which Phoenix spreads over
 * separate keys.
 */
function attributesOf(given: Fields): Record<string, Value> {
  const { metadata, ...flat } = flattened(given)
  const spread = Object.entries(flat).filter(([key]) => key.startsWith('metadata.'))
  if (spread.length === 0) return { ...flat, ...(metadata !== undefined && { metadata }) }
  const own = Object.entries(flat).filter(([key]) => !key.startsWith('metadata.'))
  const whole = gathered(spread.map(([key, value]) => [key.split('.').slice(1), value] as const))
  return { ...Object.fromEntries(own), metadata: JSON.stringify(whole) }
}

/** Undoes `flattened`. */
function gathered(entries: readonly (readonly [path: readonly string[], value: Value])[]): Value {
  const leaf = entries.find(([path]) => path.length === 0)
  if (leaf) return leaf[1]
  const groups = new Map<string, (typeof entries)[number][]>()
  for (const entry of entries) {
    const [[name = '']] = entry
    const group = groups.get(name)
    if (group) group.push(entry)
    else groups.set(name, [entry])
  }
  const fields = Array.from(groups, ([name, group]) => {
    return [name, gathered(group.map(([[, ...rest], value]) => [rest, value] as const))] as const
  })
  const isList = fields.every(([name], index) => name === String(index))
  return isList ? fields.map(([, value]) => value) : Object.fromEntries(fields)
}

/** Spreads nested attributes over OpenInference's flat keys: `llm.input_messages.0.message.role`. */
function flattened(attributes: Fields): Record<string, Value> {
  const flat: [string, Value][] = []
  const spread = (key: string, value: Value | undefined): void => {
    if (value === undefined || value === null) return
    const isList = Array.isArray(value)
    if (typeof value !== 'object' || (isList && !value.some(item => typeof item === 'object'))) flat.push([key, value])
    else for (const [name, item] of Object.entries(value)) spread(key === '' ? name : `${key}.${name}`, item)
  }
  spread('', attributes)
  return Object.fromEntries(flat)
}

function eventsOf(events: Value | undefined, to: Target): ImportedEvent[] {
  if (!Array.isArray(events)) return []
  return events.flatMap(event => {
    const { name, timestamp, attributes } = isFields(event) ? event : {}
    const time = timeOf(timestamp)
    if (time === undefined) {
      to.unplaced('events', 'an event without a time')
      return []
    }
    return [{ name: textOf(name) ?? 'event', time, attributes: flattened(fieldsOf(attributes) ?? {}) }]
  })
}
