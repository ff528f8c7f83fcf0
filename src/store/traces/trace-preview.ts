import { type SQL, sql } from 'drizzle-orm'
import { MESSAGE_KEY } from '../../domain/fold.ts'
import { inputPreview, outputPreview } from '../../domain/preview.ts'
import { PREVIEWED_INPUTS, PREVIEWED_LENGTH, PREVIEWED_ROWS } from '../../limits.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * The beginnings of a trace's input and output, for lists. They come from the root. In telemetry, a root is often just
 * a web request. If it has no input, the first step with an input provides it; if it has no output, the last step with
 * an output does.
 */

/** Null if there is none. */
export interface TracePreview {
  inputPreview: string | null
  outputPreview: string | null
}

const [LENGTH, INPUTS, ROWS] = [PREVIEWED_LENGTH, PREVIEWED_INPUTS, PREVIEWED_ROWS].map(limit => sql.raw(String(limit)))

/** The current trace's observations with their spans, but without their data. */
const seen = sql`(
  select id, type, coalesce(span_id, ${traces.rootSpanId}) as span_id from ${observations}
  where trace_key = ${traces.key} limit ${ROWS}) as seen`

/** The observations of one type and span, latest first. */
const observedFor = (spanId: SQL, type: 'input' | 'output') => sql`
  from ${seen} cross join ${observations} as observed
  where seen.type = ${sql.raw(`'${type}'`)} and seen.span_id = ${spanId}
    and observed.trace_key = ${traces.key} and observed.id = seen.id
  order by observed.timestamp desc, observed.received_at desc, observed.id desc`

const spanWith = (id: SQL, alias: string) =>
  sql`${spans} as ${sql.raw(alias)} where ${sql.raw(alias)}.id = ${id} and ${sql.raw(alias)}.trace_key = ${traces.key}`

/** The current trace's spans below the root that are steps of an AI pipeline, without their values. */
const steps = sql`(
  select id, timestamp, input is not null as has_input, has_output, is_supporting from (
    select * from ${spans} where trace_key = ${traces.key} and is_root = 0 limit ${ROWS})
  where is_generic = 0) as step`

const hasObservedInput = (spanId: SQL) =>
  sql`exists (select 1 from ${seen} where seen.type = 'input' and seen.span_id = ${spanId})`

/** The span whose input to show. */
const asked = sql`(
  select coalesce(
    (select root.id from ${spanWith(sql`${traces.rootSpanId}`, 'root')}
      and (root.input is not null or ${hasObservedInput(sql`root.id`)})),
    (select step.id from ${steps} where step.has_input or ${hasObservedInput(sql`step.id`)}
      order by step.timestamp, step.id limit 1)) as id
  -- The limit keeps SQLite from inlining this, which would look for the span once for each use.
  limit -1) as asked`

/**
 * The beginnings of the inputs of the span `asked`, as JSON, latest first. An input that was sent with the span itself
 * counts as the oldest, so it's last.
 */
const inputs = sql<string>`(
  select (
    select json_group_array(json_array(is_message, beginning)) from (
      select * from (
        select observed.state_key is ${sql.raw(`'${MESSAGE_KEY}'`)} as is_message,
          substr(observed.data, 1, ${LENGTH} / min(count(*) over (), ${INPUTS})) as beginning
        ${observedFor(sql`asked.id`, 'input')} limit ${INPUTS})
      union all
      select 0, substr(own.input, 1, ${LENGTH}) from ${spanWith(sql`asked.id`, 'own')} and own.input is not null))
  from ${asked})`.as('previewed_inputs')

/** The beginning of a span's output. Only a span that also received a null output needs to be folded. */
const outputOf = (alias: string) => {
  const column = (name: string) => sql.raw(`${alias}.${name}`)
  return sql`substr(case
    when ${column('text_id')} is not null and ${column('has_null_output')} = 0 then (
      select observed.data from ${observations} as observed
      where observed.trace_key = ${traces.key} and observed.id = ${column('text_id')})
    when ${column('has_output')} = 1 or ${column('has_null_output')} = 1 then coalesce(
      (select observed.data ${observedFor(column('id'), 'output')} limit 1), ${column('output')})
  end, 1, ${LENGTH})`
}

const output = sql<string | null>`coalesce(
  (select nullif(${outputOf('root')}, 'null') from ${spanWith(sql`${traces.rootSpanId}`, 'root')}),
  (select ${outputOf('last')} from ${spanWith(
    sql`(
      select step.id from ${steps} where step.has_output = 1
      order by step.is_supporting, step.timestamp desc, step.id desc limit 1)`,
    'last',
  )}))`.as('previewed_output')

/** The columns of the current trace that `readPreview` reads. */
export const previewColumns = { previewedInputs: inputs, previewedOutput: output }

export function readPreview(row: { previewedInputs: string; previewedOutput: string | null }): TracePreview {
  const latestFirst: [isMessage: number, json: string][] = JSON.parse(row.previewedInputs)
  const inputs = latestFirst.map(([isMessage, json]) => ({ isMessage: isMessage === 1, json })).toReversed()
  return {
    inputPreview: inputPreview(inputs),
    outputPreview: row.previewedOutput === null ? null : outputPreview(row.previewedOutput),
  }
}
