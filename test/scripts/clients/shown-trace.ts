import { inspect } from 'node:util'
import * as v from 'valibot'
import { call } from '../../../scripts/call.ts'
import type { Tenant } from './tenant.ts'

const Fields = v.record(v.string(), v.unknown())

const Span = v.object({
  id: v.string(),
  parentSpanId: v.nullable(v.string()),
  stepId: v.string(),
  input: v.unknown(),
  output: v.unknown(),
  state: Fields,
  metadata: Fields,
})
type Span = v.InferOutput<typeof Span>

const Trace = v.object({ name: v.string(), status: v.string(), metadata: Fields, spans: v.array(Span) })
type Trace = v.InferOutput<typeof Trace>

const List = v.object({ traces: v.array(v.object({ id: v.string(), traceId: v.string() })) })

/** The metadata fields that show whether the service understood a span. Other fields differ from run to run. */
const SHOWN = ['model', 'provider', 'usage', 'cost', 'finish_reasons', 'error']

/**
 * The tenant's traces as text that a person can read, oldest first, each with its tree of steps. IDs, addresses, and
 * paths that differ from run to run are left out. Throws if `traceId` isn't among the traces.
 */
export async function readAsText({ url, key, projectSlug }: Tenant, traceId: string | undefined): Promise<string> {
  const list = await call(url, key, 'GET', `/api/traces?projectSlug=${projectSlug}&kind=all&limit=200`)
  const { traces } = v.parse(List, list)
  if (traceId !== undefined && !traces.some(trace => trace.traceId === traceId)) {
    throw new Error(`Expected ${traceId}, but got: ${JSON.stringify(traces)}`)
  }
  const read = async (id: string) => v.parse(Trace, await call(url, key, 'GET', `/api/traces/${id}`))
  const texts = (await Promise.all(traces.toReversed().map(({ id }) => read(id)))).map(textOf)
  return withoutIds(texts.join('\n'))
}

function textOf({ name, status, metadata, spans }: Trace): string {
  const children = Map.groupBy(spans, ({ parentSpanId }) => parentSpanId)
  const below = (parentId: string | null, depth: number): string[] =>
    (children.get(parentId) ?? []).flatMap(span => [...linesOf(span, depth), ...below(span.id, depth + 1)])
  const lines = [`trace ${name}`, ...fieldLines({ status, ...metadata }, 1), ...below(null, 1)]
  return `${lines.join('\n')}\n`
}

function linesOf({ stepId, input, output, state, metadata }: Span, depth: number): string[] {
  const shown = Object.entries(metadata).filter(([field]) => SHOWN.includes(field))
  const fields = { input, output, ...state, ...Object.fromEntries(shown) }
  return [`${'  '.repeat(depth)}- ${metadata.kind} ${stepId}`, ...fieldLines(fields, depth + 2)]
}

/** The lines for the fields that have a value. A long value takes several lines. */
function fieldLines(fields: Record<string, unknown>, depth: number): string[] {
  const present = Object.entries(fields).filter(([, value]) => value !== null)
  return present
    .flatMap(([name, value]) => `${name}: ${inspect(value, FORMAT)}`.split('\n'))
    .map(line => '  '.repeat(depth) + line)
}

const FORMAT = { depth: null, compact: 3, breakLength: 100, maxStringLength: 400 } as const

const withoutIds = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/[0-9a-f]{32}/g, '<id>')
    .replaceAll(/0x[0-9a-f]{6,}/g, '<address>')
    .replaceAll(/\/\S*\/countersign-python-\w+/g, '<folder>')
