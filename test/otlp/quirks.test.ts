import { expect, it } from 'vitest'
import type { Decoded, TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import { decodeTraces } from '../support/decode.ts'
import { recorded } from '../support/recorded.ts'

const TRACE_ID = '5b8efff798038103d269b633813fc60c'
const SPAN_ID = 'eee19b7ec3c1b174'
const START_NS = 1544712660000000000n
const END_NS = 1544712661000000000n

/** The default fields of each quirk's span. */
const PLAIN = {
  traceId: TRACE_ID,
  spanId: SPAN_ID,
  parentSpanId: null,
  name: 's',
  spanKind: 'internal',
  startNs: START_NS,
  endNs: END_NS,
  attributes: new Map(),
  status: 'unset',
  source: { resource: new Map([['service.name', 'quirks']]), scope: { name: 'q' } },
}

const accepts = (fields: object) => (decoded: () => Decoded<TelemetrySpan>) => {
  expect(decoded().records).toMatchObject([{ ...PLAIN, ...fields }])
  expect(decoded().rejected).toEqual(new Map())
}

const refuses = (path: string, message: RegExp) => (decoded: () => unknown) => {
  expect(decoded).toThrow(
    expect.objectContaining({ status: 400, details: [{ path, message: expect.stringMatching(message) }] }),
  )
}

const EXPECTATIONS: Readonly<Record<string, (decoded: () => Decoded<TelemetrySpan>) => void>> = {
  'any-value-all-kinds.json': accepts({
    attributes: new Map<string, unknown>([
      ['s', 'x'],
      ['i_str', '9007199254740993'],
      ['i_num', 7],
      ['d', 0.5],
      ['nan', 'NaN'],
      ['b', false],
      ['empty', null],
      ['noval', null],
      ['arr', ['a', 1]],
      ['arr_empty', []],
      ['kv', { k: true }],
      ['bytes', 'AQL/'],
      ['__proto__', 'polluted'],
      ['dup', '2'],
    ]),
  }),
  'attributes-as-object-400.json': refuses('resourceSpans.0.scopeSpans.0.spans.0.attributes', /a list of {key, value}/),
  'bad-ids-partial-success.json': decoded => {
    const { records, rejected } = decoded()
    expect(records).toMatchObject([PLAIN])
    expect(rejected).toEqual(
      new Map([
        [expect.stringMatching(/^the span id/), 2],
        [expect.stringMatching(/^the trace id/), 1],
      ]),
    )
  },
  'base64-ids.json': accepts({ parentSpanId: 'eee19b7ec3c1b173' }),
  'empty-object-200.json': decoded => expect(decoded()).toEqual({ records: [], rejected: new Map() }),
  'end-before-start.json': accepts({ startNs: 1544712662000000000n, endNs: 1544712662000000000n }),
  'enum-names.json': accepts({ spanKind: 'client', status: 'error', statusMessage: 'x' }),
  'huge-index-attribute.json': accepts({
    attributes: new Map([
      ['llm.input_messages.999999999.message.role', 'user'],
      ['llm.input_messages.0.message.content', 'ok'],
      ['llm.input_messages.0.__proto__.x', 'no'],
    ]),
  }),
  'int-array-ids.json': accepts({}),
  'missing-end-time.json': accepts({ endNs: START_NS }),
  'missing-optional-fields.json': accepts({
    ...{ name: '', spanKind: 'unspecified', startNs: 0n, endNs: 0n },
    source: { resource: new Map(), scope: { name: '', version: '', attributes: new Map() } },
  }),
  'root-parent-empty-string.json': accepts({}),
  'root-parent-zeros.json': accepts({}),
  'snake-case-400.json': refuses('resource_spans', /`resourceSpans`/),
  'times-as-json-numbers.json': accepts({}),
  'unknown-fields.json': accepts({}),
  'uppercase-hex-ids.json': accepts({ parentSpanId: 'eee19b7ec3c1b173' }),
}

const quirks = recorded().filter(({ directory }) => directory === 'quirks')

it('every quirk has an expectation', () => {
  expect(quirks.map(({ file }) => file)).toEqual(Object.keys(EXPECTATIONS))
})

it.for(quirks.map(({ file, bytes }) => [file, bytes] as const))('%s', ([file, bytes]) => {
  EXPECTATIONS[file]?.(() => decodeTraces(bytes, 'application/json'))
})
