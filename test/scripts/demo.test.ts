import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DEMO_END, type DemoPlace, demoProjects, demoTraces } from '../../scripts/demo/index.ts'
import { invoiceTraces } from '../../scripts/demo/invoices.ts'
import { THREADS } from '../../scripts/demo/review-words.ts'
import { outputsToReview } from '../../scripts/demo/reviews.ts'
import { type SupportTrace, supportTraces } from '../../scripts/demo/support.ts'
import { HANDBOOK } from '../../scripts/demo/support-handbook.ts'
import {
  type DemoTrace,
  ERROR_TYPE_OF_FLAW,
  type Flaw,
  outputsOf,
  REVIEWERS,
  type Step,
} from '../../scripts/demo/trace.ts'
import { type TriageTrace, triageTraces } from '../../scripts/demo/triage.ts'
import type { Category, Priority } from '../../scripts/demo/triage-tickets.ts'
import { contentOf, versionAt } from '../../scripts/demo/versions.ts'
import { type DemoKey, seedDemo } from '../../scripts/seed.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/json.ts'
import { Timestamp, Uuid } from '../../src/http/atoms.ts'
import { Metadata, TraceId, TraceName } from '../../src/ingest/wire.ts'
import { INLINE_BYTES } from '../../src/limits.ts'
import { ADMIN_TOKEN, newServer, type Server } from './server.ts'

/** Stands in for the service, and computes an id for each version of each prompt. */
const promptVersionId = (stepId: string, version: number) => {
  const hash = createHash('sha256').update(`${stepId} ${version}`).digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(12, 15)}-8${hash.slice(15, 18)}-${hash.slice(18, 30)}`
}

const everything = () =>
  demoProjects().map(({ events, ...project }) => ({ ...project, events: events(promptVersionId) }))

const projects = everything()
const traces = demoTraces()
const events = projects.flatMap(project => project.events)

const common = { trace_id: TraceId, timestamp: Timestamp }
const Rating = v.union([v.picklist(['positive', 'negative']), v.pipe(v.number(), v.minValue(0), v.maxValue(1))])
const Labeler = v.strictObject({ name: v.string(), email: v.pipe(v.string(), v.email()) })
const Duration = v.pipe(v.number(), v.integer(), v.minValue(1))
const JsonAny = v.custom<Json>(value => value !== undefined)

const Tokens = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000))

/** The contract's schema for the bodies of each type of event. The schemas reject unknown fields. */
const BODIES = {
  trace: v.variant('status', [
    v.strictObject({ ...common, name: TraceName, metadata: Metadata, status: v.literal('running') }),
    v.strictObject({
      ...common,
      name: TraceName,
      metadata: Metadata,
      status: v.literal('completed'),
      duration_ms: Duration,
    }),
  ]),
  span: v.strictObject({
    ...common,
    span_id: Uuid,
    parent_span_id: v.optional(Uuid),
    step_id: v.string(),
    input: JsonAny,
    output: v.optional(JsonAny),
    metadata: v.optional(Metadata),
    prompt_version_id: v.optional(Uuid),
    duration_ms: Duration,
    status: v.picklist(['ok', 'error']),
    model: v.optional(v.string()),
    usage: v.optional(v.strictObject({ input_tokens: Tokens, output_tokens: Tokens })),
    cost_usd: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(0.01))),
  }),
  observation: v.variant('type', [
    v.strictObject({
      ...common,
      observation_id: Uuid,
      span_id: v.optional(Uuid),
      type: v.picklist(['input', 'output']),
      data: JsonAny,
    }),
    v.strictObject({
      ...common,
      observation_id: Uuid,
      span_id: v.optional(Uuid),
      type: v.literal('state'),
      key: v.string(),
      data: JsonAny,
    }),
  ]),
  feedback: v.strictObject({
    ...common,
    feedback_id: v.string(),
    span_id: v.optional(Uuid),
    rating: Rating,
    comment: v.optional(v.string()),
    correction: v.optional(v.custom<JsonObject>(isJsonObject)),
    labeller: Labeler,
  }),
}

/** Identifies an output in lookups and in failure messages. */
const placeOf = ({ traceId, spanId }: DemoPlace) => `${traceId}/${spanId}`

const bodiesOf = <Type extends keyof typeof BODIES>(type: Type, of = events) =>
  of.filter(event => event.type === type).map(({ body }) => v.parse(BODIES[type], body))

describe('the events', () => {
  it('are the same on every machine and in every run', () => {
    const json = JSON.stringify(projects)
    expect(JSON.stringify(everything())).toBe(json)
    expect(json.length).toBeLessThan(2_500_000)
    expect(createHash('sha256').update(json).digest('hex')).toBe(
      'dee7fa5af856f3cee1215c856140235d9741e4d430c5f1a0fd31f0f762751b06',
    )
  })

  it.for(['trace', 'span', 'observation', 'feedback'] as const)('have bodies that match the contract: %s', type => {
    expect(bodiesOf(type).length).toBeGreaterThan(80)
  })

  it('have unique ids', () => {
    const runs = bodiesOf('trace').filter(({ status }) => status === 'running')
    const ids = [
      ...runs.map(body => body.trace_id),
      ...bodiesOf('span').map(body => body.span_id),
      ...bodiesOf('observation').map(body => body.observation_id),
      ...bodiesOf('feedback').map(body => body.feedback_id),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(runs.every(body => /^trace_[0-9a-f]{22}$/.test(body.trace_id))).toBe(true)
  })

  it('are sent one trace at a time, oldest first, each trace before its events', () => {
    for (const project of projects) {
      const groups = [...Map.groupBy(project.events, ({ body }) => body.trace_id).values()]
      expect(groups.flat()).toEqual(project.events)
      const begun = groups.map(([first]) => v.parse(BODIES.trace, first?.body))
      expect(begun.every(({ status }) => status === 'running')).toBe(true)
      const times = begun.map(({ timestamp }) => timestamp)
      expect(times).toEqual(times.toSorted((left, right) => left - right))
      expect(times[0]).toBeGreaterThan(Date.parse('2026-10-24T00:00:00.000Z'))
    }
    const last = Math.max(...events.map(({ body }) => v.parse(Timestamp, body.timestamp)))
    expect(last).toBeLessThan(Date.parse('2026-11-21T00:00:00.000Z'))
  })

  it('have times that keep spans within their parents and their trace, and siblings one after another', () => {
    for (const group of Map.groupBy(events, ({ body }) => body.trace_id).values()) {
      const [begun, completed] = bodiesOf('trace', group)
      const start = begun?.timestamp ?? Number.NaN
      const end = completed && 'duration_ms' in completed ? start + completed.duration_ms : Number.POSITIVE_INFINITY
      const spans = bodiesOf('span', group).map(span => ({
        ...span,
        start: span.timestamp,
        end: span.timestamp + span.duration_ms,
      }))
      const siblings = Map.groupBy(spans, span => span.parent_span_id)
      for (const [parentId, children] of siblings) {
        const parent = parentId === undefined ? { start, end } : spans.find(span => span.span_id === parentId)
        const edges = children.flatMap(child => [child.start, child.end])
        const inOrder = [parent?.start, ...edges, parent?.end]
        expect(inOrder).toEqual(inOrder.toSorted((left = Number.NaN, right = Number.NaN) => left - right))
      }
      for (const observation of bodiesOf('observation', group)) {
        const span = spans.find(each => each.span_id === observation.span_id) ?? { start, end }
        expect(observation.timestamp).toBeGreaterThanOrEqual(span.start)
        expect(observation.timestamp).toBeLessThanOrEqual(span.end)
      }
      for (const { timestamp, span_id } of bodiesOf('feedback', group)) {
        expect(timestamp).toBeGreaterThan(end)
        if (span_id) expect(spans.map(span => span.span_id)).toContain(span_id)
      }
    }
  })

  it('include values that are too large for a row', () => {
    const large = bodiesOf('span').filter(({ output }) => JSON.stringify(output ?? null).length > INLINE_BYTES)
    expect(new Set(large.map(({ trace_id }) => trace_id)).size).toBe(2)
  })

  it('have the proportions of a real project', () => {
    const share = (holds: (trace: DemoTrace) => boolean) => traces.filter(holds).length / traces.length
    expect(traces).toHaveLength(320)
    expect(share(({ flaw }) => flaw !== null)).toBeCloseTo(0.2, 2)
    expect(share(({ ending }) => ending === 'running')).toBeCloseTo(0.05, 2)
    expect(share(({ ending }) => ending === 'failed')).toBeCloseTo(0.025, 2)
    expect(share(({ opinion }) => opinion !== undefined)).toBeCloseTo(0.32, 1)
    expect(new Set(traces.flatMap(({ flaw }) => flaw ?? []))).toEqual(new Set(Object.keys(ERROR_TYPE_OF_FLAW)))
    const silent = traces.filter(({ flaw, opinion }) => flaw !== null && opinion === undefined)
    expect(silent.length).toBeGreaterThan(30)
    expect(new Set(supportTraces().map(({ input }) => input.question)).size).toBeGreaterThan(135)
  })
})

/** The schema of a step's outputs, in the version of the prompt that the step used. */
const schemaOf = ({ stepId, promptVersion = 0 }: Step) =>
  projects.flatMap(({ prompts }) => prompts).find(prompt => prompt.stepId === stepId)?.versions[promptVersion - 1]
    ?.outputSchema

describe('the prompts', () => {
  const breaks = (trace: DemoTrace) =>
    trace.steps
      .filter(step => step.promptVersion !== undefined && step.output !== undefined)
      .filter(step => !fits(step.output, schemaOf(step)))

  it('have schemas that every output matches, except those with a missing field', () => {
    const broken = traces.filter(trace => breaks(trace).length > 0)
    expect(new Set(broken)).toEqual(new Set(traces.filter(({ flaw }) => flaw === 'missing_field')))
  })

  it('differ between versions, and the latest runs use the active version', () => {
    for (const { stepId, versions, since } of projects.flatMap(({ prompts }) => prompts)) {
      expect(new Set(versions.map(({ content }) => content)).size).toBe(versions.length)
      const used = traces.flatMap(({ steps }) => steps).filter(step => step.stepId === stepId)
      expect(used.findLast(({ promptVersion }) => promptVersion)?.promptVersion).toBe(
        since.findLastIndex(day => day !== null) + 1,
      )
    }
  })
})

/** For each kind of flaw, checks whether a trace is wrong in the way that its flaw describes. */
type FlawChecks<Trace> = Partial<Record<Flaw, (trace: Trace) => boolean>>

function expectFlawed<Trace extends DemoTrace>(all: readonly Trace[], checks: FlawChecks<Trace>) {
  for (const trace of all) {
    if (trace.flaw) expect([trace.key, trace.flaw, checks[trace.flaw]?.(trace)]).toEqual([trace.key, trace.flaw, true])
  }
}

const outputOf = (trace: DemoTrace, stepId: string) => trace.steps.find(step => step.stepId === stepId)?.output
const correctionOf = (trace: DemoTrace) => trace.opinion?.correction ?? {}
const mistakeOf = (trace: DemoTrace, stepId: string) =>
  outputsOf(trace).find(output => output.stepId === stepId)?.mistake

/** A flawed run in which the right output replaces each mistake. */
const corrected = <Trace extends DemoTrace>(trace: Trace): Trace => ({
  ...trace,
  ...(trace.mistake?.right !== undefined && { output: trace.mistake.right }),
  steps: trace.steps.map(step => ({
    ...step,
    ...(step.mistake?.right !== undefined && { output: step.mistake.right }),
  })),
})

describe('the support runs', () => {
  const Chunks = v.object({ chunks: v.array(v.object({ doc: v.string(), text: v.string() })) })
  const Answer = v.object({ answer: v.string(), sources: v.array(v.string()) })
  const Question = v.object({ question: v.string() })
  const Orders = v.array(v.object({ number: v.string() }))
  const Corrected = v.object({ answer: v.string() })

  const chunkRows = (trace: DemoTrace) =>
    v.parse(v.optional(Chunks, { chunks: [] }), outputOf(trace, 'retrieve')).chunks
  const answerOf = (trace: DemoTrace) => v.parse(Answer, trace.output)
  const correctedAnswer = (trace: DemoTrace) => v.parse(Corrected, correctionOf(trace)).answer
  const isRetrieved = (trace: DemoTrace, words: string) => chunkRows(trace).some(({ text }) => text.includes(words))
  const docAt = (slug: string, time: number) => {
    const doc = HANDBOOK.find(each => each.slug === slug)
    return doc ? contentOf(doc, versionAt(doc, time)) : ''
  }
  const isCurrent = (trace: DemoTrace) =>
    chunkRows(trace).every(({ doc, text }) => docAt(doc, trace.startedAt).includes(text))
  const knowsOrder = ({ input, state }: DemoTrace) => {
    const [named] = /LF-\d{6}/.exec(v.parse(Question, input).question) ?? []
    return named === undefined || v.parse(Orders, state.customer_orders).some(({ number }) => number === named)
  }
  const isGrounded = (trace: SupportTrace) =>
    trace.facts.every(fact => answerOf(trace).answer.includes(fact) && isRetrieved(trace, fact))
  const isSound = (trace: SupportTrace) => isCurrent(trace) && knowsOrder(trace) && isGrounded(trace)
  const saysWrong = ({ wrong }: SupportTrace, answer: string) => wrong !== undefined && answer.includes(wrong)

  it('cite chunks of the docs that were current at the time if they have no flaw', () => {
    for (const trace of supportTraces().filter(({ flaw }) => flaw === null)) {
      expect(trace.facts).not.toEqual([])
      expect([trace.key, isCurrent(trace), knowsOrder(trace)]).toEqual([trace.key, true, true])
      if (trace.ending === 'completed') expect([trace.key, isGrounded(trace)]).toEqual([trace.key, true])
    }
  })

  it('are right after corrections: they follow the docs, cite their sources, and say nothing wrong', () => {
    const failed = supportTraces().filter(({ ending }) => ending === 'failed')
    const flawed = supportTraces().filter(trace => mistakeOf(trace, 'support-answer'))
    expect(flawed.filter(({ flaw }) => flaw === null)).toEqual(failed)
    const numbers = (text: string) => text.match(/\d[\d.,:]*\d|\d/g) ?? []
    for (const trace of flawed) {
      const right = corrected(trace)
      const { answer, sources } = answerOf(right)
      expect([trace.key, numbers(answer)]).toEqual([
        trace.key,
        expect.arrayContaining(trace.facts.flatMap(fact => (answer.includes(fact) ? [] : numbers(fact)))),
      ])
      if (trace.metadata.language === 'en') {
        expect([trace.key, trace.facts.filter(fact => !answer.includes(fact))]).toEqual([trace.key, []])
      }
      expect([trace.key, saysWrong(trace, answer)]).toEqual([trace.key, false])
      expect(sources).toHaveLength(trace.facts.length > 0 ? 1 : 0)
      if (trace.ending === 'failed') continue
      expect([trace.key, isCurrent(right)]).toEqual([trace.key, true])
      expect([trace.key, trace.facts.filter(fact => !isRetrieved(right, fact))]).toEqual([trace.key, []])
      expect(outputOf(right, 'generate-answer')).toEqual(right.output)
      expect(trace.facts.length === 0 || chunkRows(right).some(({ doc }) => doc === sources[0])).toBe(true)
    }
  })

  it('are wrong in the way that their flaws describe', () => {
    expectFlawed<SupportTrace>(supportTraces(), {
      misread_number: trace =>
        trace.facts.every(fact => isRetrieved(trace, fact) && !answerOf(trace).answer.includes(fact)) &&
        saysWrong(trace, answerOf(trace).answer),
      wrong_task: trace =>
        trace.facts.every(fact => isRetrieved(trace, fact) && !answerOf(trace).answer.includes(fact)) &&
        saysWrong(trace, answerOf(trace).answer),
      wrong_conclusion: trace => isSound(trace) && saysWrong(trace, answerOf(trace).answer),
      wrong_document: trace => !trace.facts.some(fact => isRetrieved(trace, fact)),
      outdated_document: trace => !isCurrent(trace) && saysWrong(trace, answerOf(trace).answer),
      invented_fact: trace => saysWrong(trace, answerOf(trace).answer) && !isRetrieved(trace, trace.wrong ?? ''),
      lost_question: trace => !trace.facts.every(fact => isRetrieved(trace, fact)),
      incomplete_answer: trace => {
        const stated = trace.facts.filter(fact => answerOf(trace).answer.includes(fact))
        return stated.length > 0 && stated.length < trace.facts.length
      },
      ambiguous_input: trace => isSound(trace) && !trace.facts.some(fact => correctedAnswer(trace).includes(fact)),
      wrong_order_number: trace => !knowsOrder(trace),
      unsupported_question: trace => answerOf(trace).sources.length === 0,
      wrong_language: trace => trace.metadata.language !== 'en' && saysWrong(trace, answerOf(trace).answer),
      matter_of_taste: trace => isSound(trace) && trace.facts.every(fact => correctedAnswer(trace).includes(fact)),
      mistaken_reviewer: trace =>
        isSound(trace) &&
        saysWrong(trace, correctedAnswer(trace)) &&
        answerOf(trace).sources.every(slug => !docAt(slug, trace.startedAt).includes(trace.wrong ?? '')),
    })
  })
})

describe('the triage runs', () => {
  /** The words that identify each category. A ticket without a flaw never has words from two categories. */
  const CATEGORY_WORDS: Record<Category, RegExp> = {
    billing: /charged|invoice|gift card|installment|payment reminder|abgebucht|rechnung/i,
    delivery: /package (for|with)|my package|the package|courier|shipped|paket/i,
    returns: /\breturn\b|exchange|send the other one back|devolver/i,
    technical: /switches on|the app|noise|firmware|battery|error E4|einschalten/i,
    account: /sign(-| )in|my account is|close my account|sesión/i,
    other: /thank you to|suggestion|newspaper|summer jobs/i,
  }

  const TEAMS: Record<Category, string> = {
    billing: 'accounting',
    delivery: 'logistics',
    returns: 'logistics',
    technical: 'workshop',
    account: 'customer-care',
    other: 'customer-care',
  }

  /** The words that identify a priority. */
  const PRIORITY_WORDS: Record<Exclude<Priority, 'normal'>, RegExp> = {
    low: /no hurry|can wait|eilt nicht|no hay prisa/i,
    high: /second time|by tomorrow|zum zweiten mal|segunda vez/i,
    urgent: /smoke|electric shock|rauch|humo/i,
  }
  const matching = (words: object, text: string) =>
    Object.entries(words).flatMap(([name, pattern]) => (pattern instanceof RegExp && pattern.test(text) ? [name] : []))
  const Ticket = v.object({ text: v.string() })
  const isRight = ({ right, ...trace }: TriageTrace) => {
    const label = v.parse(
      v.partial(v.object({ category: v.string(), priority: v.string(), language: v.string() })),
      outputOf(trace, 'classify'),
    )
    return label.category === right.category && label.priority === right.priority && label.language === right.language
  }

  it('have labels that match the words in the ticket if they have no flaw', () => {
    for (const trace of triageTraces().filter(({ flaw }) => flaw === null)) {
      const { text } = v.parse(Ticket, trace.input)
      expect([text, matching(CATEGORY_WORDS, text)]).toEqual([text, [trace.right.category]])
      const [priority = 'normal'] = matching(PRIORITY_WORDS, text)
      expect(priority).toBe(trace.right.priority)
      if (trace.ending !== 'failed') expect(isRight(trace)).toBe(true)
    }
  })

  it('have the right label, team, and result after corrections', () => {
    const flawed = triageTraces().filter(trace => trace.mistake)
    expect(flawed.map(({ flaw }) => flaw)).not.toContain(null)
    for (const trace of flawed) {
      const right = corrected(trace)
      expect([trace.key, isRight(right)]).toEqual([trace.key, true])
      const isForOnCallDesk = trace.right.priority === 'urgent' && trace.startedAt > Date.parse('2026-11-06')
      const team = isForOnCallDesk ? 'on-call-desk' : TEAMS[trace.right.category]
      expect([trace.key, outputOf(right, 'route')]).toMatchObject([trace.key, { team }])
      expect(right.output).toEqual({ ...v.parse(v.looseObject({}), outputOf(right, 'classify')), team })
    }
  })

  it('are wrong in the way that their flaws describe', () => {
    const contradicts = (trace: TriageTrace) => correctionOf(trace).category !== trace.right.category
    expectFlawed<TriageTrace>(triageTraces(), {
      wrong_label: trace => !isRight(trace),
      wrong_team: trace => isRight(trace) && mistakeOf(trace, 'route') !== undefined,
      missing_field: trace => !isRight(trace),
      contradictory_input: trace => !isRight(trace) && !contradicts(trace),
      ambiguous_input: trace => isRight(trace) && contradicts(trace),
      mistaken_reviewer: trace => isRight(trace) && contradicts(trace),
    })
  })
})

describe('the invoice runs', () => {
  const Fields = v.object({
    supplier: v.object({ name: v.string(), vat_id: v.string(), address: v.record(v.string(), v.string()) }),
    invoice_number: v.string(),
    issue_date: v.string(),
    due_date: v.optional(v.string()),
    lines: v.array(
      v.object({ description: v.string(), quantity: v.number(), unit_price: v.number(), amount: v.number() }),
    ),
    net: v.number(),
    tax: v.object({ rate: v.number(), amount: v.number() }),
    total: v.number(),
  })
  const fieldsOf = (trace: DemoTrace) => v.parse(Fields, outputOf(trace, 'extract-fields'))
  const textOf = (trace: DemoTrace) =>
    v.parse(v.object({ text_lines: v.array(v.string()) }), outputOf(trace, 'read-document')).text_lines.join('\n')

  const cents = (amount: number) => Math.round(amount * 100)
  const addsUp = (trace: DemoTrace) => {
    const { lines, net, tax, total } = fieldsOf(trace)
    return (
      lines.every(line => cents(line.amount) === line.quantity * cents(line.unit_price)) &&
      cents(net) === lines.reduce((sum, { amount }) => sum + cents(amount), 0) &&
      cents(tax.amount) === Math.round((cents(net) * tax.rate) / 100) &&
      cents(total) === cents(net) + cents(tax.amount)
    )
  }
  const amountForms = (amount: number) => {
    const english = amount.toFixed(2).replace(/\B(?=(\d{3})+\.)/g, ',')
    return [english, english.replace(/[.,]/g, mark => (mark === '.' ? ',' : '.'))]
  }
  const dateForms = (iso: string) => [iso, ...['.', '/'].map(mark => iso.split('-').toReversed().join(mark))]
  /** The values that the text doesn't contain in any spelling. */
  const unread = (trace: DemoTrace) => {
    const { supplier, lines, ...fields } = fieldsOf(trace)
    const amounts = [
      fields.net,
      fields.tax.amount,
      fields.total,
      ...lines.flatMap(line => [line.unit_price, line.amount]),
    ]
    const texts = [supplier.name, supplier.vat_id, ...Object.values(supplier.address), fields.invoice_number]
    const forms = [
      ...[...texts, ...lines.map(line => line.description)].map(text => [text]),
      ...amounts.map(amountForms),
      ...[fields.issue_date, fields.due_date ?? fields.issue_date].map(dateForms),
    ]
    return forms.filter(each => !each.some(form => textOf(trace).includes(form))).map(([first]) => first)
  }
  const isInOrder = (trace: DemoTrace) => fieldsOf(trace).issue_date < (fieldsOf(trace).due_date ?? '')
  const isSound = (trace: DemoTrace) => addsUp(trace) && unread(trace).length === 0 && isInOrder(trace)

  it('match the printed text and have correct sums if they have no flaw', () => {
    for (const trace of invoiceTraces().filter(({ flaw, ending }) => flaw === null && ending !== 'failed')) {
      expect([trace.key, unread(trace), addsUp(trace), isInOrder(trace)]).toEqual([trace.key, [], true, true])
    }
  })

  it('include a validation step that reports whether the values add up', () => {
    for (const trace of invoiceTraces().filter(({ ending }) => ending === 'completed')) {
      expect(outputOf(trace, 'validate-totals')).toMatchObject({ ok: addsUp(trace) })
    }
  })

  it('match the printed text and add up after corrections', () => {
    const flawed = invoiceTraces().filter(trace => mistakeOf(trace, 'extract-fields')?.right !== undefined)
    expect(flawed.map(({ flaw }) => flaw)).not.toContain(null)
    for (const trace of flawed) {
      const right = corrected(trace)
      expect([trace.key, unread(right), addsUp(right), isInOrder(right)]).toEqual([trace.key, [], true, true])
      expect(textOf(right)).toContain(` ${fieldsOf(right).invoice_number}\n`)
      const { invoice_number, total } = fieldsOf(right)
      expect(right.output).toMatchObject({ invoice_number, total, status: 'ready_to_book' })
    }
  })

  it('are wrong in the way that their flaws describe', () => {
    expectFlawed<DemoTrace>(invoiceTraces(), {
      transposed_digits: trace => unread(trace).length === 1,
      missing_line: trace => !addsUp(trace) && unread(trace).length === 0,
      swapped_dates: trace => !isInOrder(trace),
      contradictory_input: trace => !addsUp(trace) && unread(trace).length === 0,
      missing_field: trace => fieldsOf(trace).due_date === undefined,
      invented_fact: trace => unread(trace).length > 0,
      misread_number: trace => !addsUp(trace),
      dropped_prefix: trace => !textOf(trace).includes(` ${fieldsOf(trace).invoice_number}\n`),
      mistaken_reviewer: trace => isSound(trace) && correctionOf(trace).total !== fieldsOf(trace).total,
    })
  })
})

describe('the reviews', () => {
  const places = new Map(
    traces.flatMap(trace => outputsOf(trace).map(output => [placeOf(output), { trace, output }] as const)),
  )
  const reviews = projects
    .flatMap(project => project.reviews)
    .map(({ decisions, ...place }) => {
      const found = places.get(placeOf(place))
      const last = decisions.at(-1)
      if (!found || !last) throw new Error(`no output at ${placeOf(place)}`)
      return { ...found, decisions, last, name: `${found.trace.key} ${found.output.stepId}` }
    })
  const comments = projects.flatMap(project => project.comments)
  const offered = traces.flatMap(outputsToReview)
  const offeredSteps = offered.filter(({ spanId }) => spanId !== null)
  const shareOf = (decision: string) => reviews.filter(({ last }) => last.decision === decision).length / offered.length

  it('accept right outputs and correct wrong ones, except for reviewer mistakes', () => {
    const contested = reviews.filter(({ output }) => output.objection)
    for (const { name, output, last } of reviews) {
      const { mistake, objection } = output
      if (last.decision === 'correct' && !objection) {
        expect([name, last.approvedOutput, last.errorType]).toEqual([name, mistake?.right, mistake?.errorType])
      }
      if (last.decision === 'accept') expect([name, mistake]).toEqual([name, undefined])
    }
    const standing = contested.filter(({ last }) => last.decision === 'correct')
    expect(standing.map(({ name, last }) => [name, last.errorType])).toEqual([
      ['support/20 generate-answer', 'ambiguous_request'],
      ['support/40 generate-answer', 'acceptable_variation'],
      ['support/60 generate-answer', undefined],
    ])
    const overruled = contested.filter(({ last }) => last.decision === 'accept')
    expect(overruled.map(({ name, last }) => [name, last.errorType])).toEqual([
      ['support/30 generate-answer', 'reviewer_mistake'],
      ['triage/24 classify', 'ambiguous_request'],
      ['triage/44 classify', 'reviewer_mistake'],
      ['invoices/74 extract-fields', 'reviewer_mistake'],
    ])
  })

  it("approve only outputs that match the step's schema, and correct only outputs that they change", () => {
    for (const { name, trace, output, decisions } of reviews) {
      const step = trace.steps.find(({ stepId }) => stepId === output.stepId)
      const schema = step && schemaOf(step)
      for (const { decision, approvedOutput = output.output } of decisions) {
        if (schema && decision !== 'reset') expect([name, fits(approvedOutput, schema)]).toEqual([name, true])
        if (decision === 'correct') expect([name, approvedOutput]).not.toEqual([name, output.output])
      }
    }
  })

  it('accept a third of the outputs and correct nearly a tenth, evenly, and leave some in each step', () => {
    expect(shareOf('accept')).toBeCloseTo(1 / 3, 1)
    expect(shareOf('correct')).toBeCloseTo(0.09, 2)
    for (const { email } of REVIEWERS) {
      expect(reviews.filter(({ last }) => last.reviewer === email).length / reviews.length).toBeGreaterThan(0.25)
    }
    for (const [stepId, outputs] of Map.groupBy(offeredSteps, ({ stepId }) => stepId)) {
      const share = reviews.filter(({ output }) => output.stepId === stepId).length / outputs.length
      expect([stepId, share > 0.25 && share < 0.5]).toEqual([stepId, true])
    }
    expect(reviews.filter(({ trace }) => trace.ending === 'running')).toEqual([])
  })

  it('show that version 3 of the answer prompt helped', () => {
    const rate = (version: number) => {
      const ofVersion = reviews.filter(
        ({ output, trace }) =>
          output.stepId === 'generate-answer' &&
          trace.steps.find(({ stepId }) => stepId === 'generate-answer')?.promptVersion === version,
      )
      return ofVersion.filter(({ last }) => last.decision === 'accept').length / ofVersion.length
    }
    expect(rate(2)).toBeLessThan(0.55)
    expect(rate(3)).toBeGreaterThan(0.8)
  })

  it('come after their runs, in order, over four weeks, and some are left for the day of the seeding', () => {
    const times = reviews.flatMap(({ trace, decisions }) => {
      const ofSpan = decisions.flatMap(({ at }) => at ?? [])
      expect(ofSpan).toEqual(ofSpan.toSorted((left, right) => left - right))
      for (const at of ofSpan) expect(at).toBeGreaterThan(trace.startedAt + 3_600_000)
      return ofSpan
    })
    expect(new Set(times.map(time => new Date(time).toISOString().slice(0, 10))).size).toBeGreaterThan(20)
    expect(Math.max(...times)).toBeLessThan(DEMO_END)
    const current = reviews.filter(({ decisions }) => decisions.some(({ at }) => at === null))
    expect(current.length).toBeGreaterThan(15)
    expect(current.every(({ decisions }) => decisions.length === 1)).toBe(true)
  })

  it('have a reason for each correction, rarely in the same words', () => {
    const reasons = reviews.flatMap(({ decisions }) =>
      decisions.flatMap(({ decision, comment }) => (decision === 'correct' ? [comment ?? ''] : [])),
    )
    expect(reasons).not.toContain('')
    expect(new Set(reasons).size / reasons.length).toBeGreaterThan(0.9)
  })

  it('change occasionally: after a hasty acceptance, through a reset, or because another reviewer disagrees', () => {
    const histories = reviews.map(({ decisions }) => decisions.map(({ decision }) => decision).join(' '))
    const counts = Map.groupBy(histories, history => history)
    for (const history of ['accept correct', 'accept reset', 'correct accept']) {
      expect([history, counts.get(history)?.length ?? 0]).toEqual([history, expect.toSatisfy(isHandful)])
    }
  })

  it('include comments on a few dozen outputs, alone or in threads', () => {
    const threads = Map.groupBy(comments, placeOf)
    expect([...threads.keys()].filter(place => !places.has(place))).toEqual([])
    expect(threads.size).toBe(THREADS.length)
    expect(comments.map(({ content }) => content).toSorted()).toEqual(THREADS.flatMap(({ turns }) => turns).toSorted())
    expect(new Set(comments.map(({ id }) => v.parse(Uuid, id))).size).toBe(comments.length)
    const reviewed = new Set(reviews.map(({ output }) => placeOf(output)))
    const unreviewed = [...threads.keys()].filter(place => !reviewed.has(place))
    expect(unreviewed.length).toBeGreaterThan(12)
    for (const comments of threads.values()) {
      for (const [turn, { reviewer }] of comments.entries()) expect(reviewer).not.toBe(comments[turn + 1]?.reviewer)
    }
  })
})

describe('the votes', () => {
  const votes = projects.flatMap(project => project.votes)
  const [ada = '', kofi = '', mei = ''] = REVIEWERS.map(({ email }) => email)
  const ofSpans = [...Map.groupBy(votes, ({ spanId }) => spanId).values()]
  const cast = ofSpans.map(own => own.filter(({ reviewer }) => reviewer !== ada))
  const isAgreed = ([first, second]: typeof votes) =>
    JSON.stringify(first?.approvedOutput) === JSON.stringify(second?.approvedOutput)

  it('are cast by two people, on outputs of one step that nobody has decided on', () => {
    const outputs = new Map(traces.flatMap(outputsOf).map(output => [placeOf(output), output]))
    const reviewed = new Set(projects.flatMap(project => project.reviews).map(placeOf))
    expect(votes.filter(vote => reviewed.has(placeOf(vote)))).toEqual([])
    for (const { decision, approvedOutput, ...vote } of votes) {
      const output = outputs.get(placeOf(vote))
      expect(output).toMatchObject({ stepId: vote.stepId, mistake: undefined })
      expect(decision).toBe(approvedOutput === undefined ? 'accept' : 'correct')
      expect(approvedOutput).not.toEqual(output?.output)
    }
    expect(new Set(votes.map(({ stepId }) => stepId))).toEqual(new Set(['rewrite-query']))
    for (const own of cast) expect(own.map(({ reviewer }) => reviewer)).toEqual([kofi, mei].slice(0, own.length))
  })

  it('mostly agree, and the adjudicator has decided some of the others', () => {
    const both = cast.filter(({ length }) => length === 2)
    const agreed = both.filter(isAgreed)
    expect([cast.length, both.length, agreed.length]).toEqual([60, 55, 46])
    expect(agreed.filter(([vote]) => vote?.decision === 'correct').length).toBe(4)
    const disputed = ofSpans.filter(own => own.length > 1 && !isAgreed(own))
    const decided = disputed.filter(own => own.length === 3)
    expect(decided.map(own => own.at(-1)?.decision)).toEqual(['correct', 'accept', 'correct'])
    expect(votes.filter(({ reviewer }) => reviewer === ada)).toHaveLength(decided.length)
  })
})

const isHandful = (count: number) => count > 1 && count < 12

describe('the seeding', () => {
  let server: Server
  let stateDirectory: string

  beforeEach(async () => {
    server = await newServer()
    stateDirectory = await mkdtemp(join(tmpdir(), 'countersign-keys-'))
  })

  afterEach(async () => {
    vi.restoreAllMocks()
    await server.remove()
    await rm(stateDirectory, { recursive: true, force: true })
  })

  const Page = v.object({ traces: v.array(v.object({ id: v.string() })), nextCursor: v.nullable(v.string()) })
  const Span = v.object({
    id: v.string(),
    output: v.unknown(),
    approvedOutput: v.unknown(),
    promptVersionId: v.nullable(v.string()),
    createdAt: v.string(),
    review: v.object({
      state: v.string(),
      by: v.nullable(v.string()),
      at: v.nullable(v.string()),
      reviewedBy: v.nullable(v.string()),
    }),
  })
  const Detail = v.object({ spans: v.array(Span), feedback: v.array(v.looseObject({ content: v.string() })) })
  const Datasets = v.object({ datasets: v.array(v.object({ stepId: v.string(), items: v.number() })) })
  const Prompts = v.object({ prompts: v.array(v.object({ id: v.string() })) })
  const Prompt = v.object({ versions: v.array(v.object({ id: v.string(), createdAt: v.string() })) })
  const Experiments = v.object({ experiments: v.array(v.object({ id: v.string() })) })
  const Report = v.object({
    stepId: v.string(),
    state: v.string(),
    counts: v.record(v.string(), v.number()),
    gate: v.object({ met: v.boolean(), unmet: v.array(v.object({ condition: v.string() })) }),
  })
  const History = v.object({ reviews: v.array(v.object({ id: v.string(), decision: v.string() })) })

  /** The reviews of those spans in the first project that were decided more than once. */
  const changed = (projects[0]?.reviews ?? []).filter(({ decisions, spanId }) => decisions.length > 1 && spanId)

  const seed = async () => {
    const { projectKeys, reviewerKey } = await seedDemo({ url: server.url, adminToken: ADMIN_TOKEN, stateDirectory })
    // The adjudicator's key shows what the blind policy hides from the projects' keys.
    return projectKeys.map(({ project }) => ({ project, key: reviewerKey }))
  }

  async function get(path: string, key: string): Promise<unknown> {
    const response = await fetch(server.url + path, { headers: { 'x-api-key': key } })
    expect(response.status).toBe(200)
    return response.json()
  }

  /**
   * Everything that reviewers did, as the API reports it, with the history of each span that was decided more than
   * once.
   */
  async function reported(keys: readonly DemoKey[]) {
    const details: v.InferOutput<typeof Detail>[] = []
    const histories: v.InferOutput<typeof History>['reviews'][] = []
    for (const { project, key } of keys) {
      let cursor: string | null = ''
      while (cursor !== null) {
        const from: string = cursor && `&cursor=${cursor}`
        const page = v.parse(Page, await get(`/api/traces?projectSlug=${project}&limit=200${from}`, key))
        cursor = page.nextCursor
        // Reads one trace at a time. On a busy machine, some of 200 concurrent reads would get a 503 at their deadline.
        for (const { id } of page.traces) {
          details.push(v.parse(Detail, await get(`/api/traces/${id}?payloads=preview`, key)))
        }
      }
    }
    const spans = details
      .flatMap(detail => detail.spans)
      .filter(({ output, review }) => output !== null && review.reviewedBy === null)
    for (const { spanId } of changed) {
      histories.push(v.parse(History, await get(`/api/spans/${spanId}/reviews`, keys[0]?.key ?? '')).reviews)
    }
    const prompts: v.InferOutput<typeof Prompt>[] = []
    for (const { project, key } of keys) {
      const list = v.parse(Prompts, await get(`/api/prompts?projectSlug=${project}`, key)).prompts
      for (const { id } of list) prompts.push(v.parse(Prompt, await get(`/api/prompts/${id}`, key)))
    }
    return { spans, details, histories, prompts, ...(await experimentsOf(keys[0]?.key ?? '')) }
  }

  /** The first project's datasets and experiments, oldest first. */
  async function experimentsOf(key: string) {
    const { datasets } = v.parse(Datasets, await get('/api/datasets?projectSlug=support', key))
    const { experiments } = v.parse(Experiments, await get('/api/experiments?projectSlug=support', key))
    const reports = await Promise.all(experiments.map(({ id }) => get(`/api/experiments/${id}`, key)))
    return { datasets, reports: reports.map(report => v.parse(Report, report)).toReversed() }
  }

  it('posts everything, resumes after an interruption, and changes nothing if repeated', async () => {
    await server.start({ SEED: 'none' })
    // Interrupts the seeding between decisions that depend on each other.
    const { fetch } = globalThis
    let changes = 0
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      if (init?.method === 'POST' && String(input).endsWith('/api/reviews') && ++changes > 2) throw new Error('cut off')
      return fetch(input, init)
    })
    await expect(seed()).rejects.toThrow('cut off')
    vi.restoreAllMocks()

    const first = await reported(await seed())
    const share = (state: string) =>
      first.spans.filter(({ review }) => review.state === state).length / first.spans.length
    expect(share('accepted')).toBeGreaterThan(0.3)
    expect(share('accepted')).toBeLessThan(0.42)
    expect(share('corrected')).toBeGreaterThan(0.08)
    expect(share('corrected')).toBeLessThan(0.13)
    const reviewers = Map.groupBy(
      first.spans.filter(({ review }) => review.at !== null),
      ({ review }) => review.by,
    )
    expect(reviewers.size).toBe(3)
    const days = new Set(first.spans.map(({ review }) => review.at?.slice(0, 10)))
    expect(days.size).toBeGreaterThan(20)
    expect(days).toContain(new Date().toISOString().slice(0, 10))
    const versions = new Map(
      first.prompts.flatMap(({ versions }) => versions.map(({ id, createdAt }) => [id, createdAt])),
    )
    const users = first.spans.filter(({ promptVersionId }) => promptVersionId !== null)
    expect(users.length).toBeGreaterThan(200)
    for (const { promptVersionId, createdAt } of users) {
      expect(createdAt > (versions.get(promptVersionId ?? '') ?? '9')).toBe(true)
    }
    expect(first.histories.map(history => history.map(({ decision }) => decision).toReversed())).toEqual(
      changed.map(({ decisions }) => decisions.map(({ decision }) => decision)),
    )
    const posted = first.details.flatMap(({ feedback }) => feedback.map(({ content }) => content))
    const comments = projects.flatMap(project => project.comments.map(({ content }) => content))
    expect(posted).toEqual(expect.arrayContaining(comments))

    expect(first.datasets.find(({ stepId }) => stepId === 'classify')?.items).toBeGreaterThan(20)
    // The reports cover a version that helped, one that the gate blocks, and one with free text that people still have
    // to judge.
    const [helped, refused, unjudged] = first.reports
    expect(first.reports.map(({ state }) => state)).toEqual(['finished', 'finished', 'finished'])
    expect(helped).toMatchObject({ stepId: 'classify', counts: { regressed: 0 }, gate: { met: true } })
    expect(helped?.counts.fixed).toBeGreaterThan(5)
    expect(refused).toMatchObject({ stepId: 'classify', gate: { met: false, unmet: [{ condition: 'maxRegressed' }] } })
    expect(unjudged).toMatchObject({ stepId: 'generate-answer', gate: { met: false } })
    for (const part of ['fixed', 'regressed', 'unjudged']) expect([part, unjudged?.counts[part]]).not.toEqual([part, 0])

    await rm(join(stateDirectory, 'demo-keys.json'))
    expect(await reported(await seed())).toEqual(first)
  })
})

const ofType: Record<string, (value: unknown) => boolean> = {
  object: isJsonObject,
  array: Array.isArray,
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
}

const Schema = v.object({
  type: v.picklist(['object', 'array', 'string', 'number']),
  properties: v.optional(v.record(v.string(), v.unknown()), {}),
  required: v.optional(v.array(v.string()), []),
  additionalProperties: v.optional(v.boolean(), true),
  items: v.optional(v.unknown()),
  enum: v.optional(v.array(v.unknown())),
  pattern: v.optional(v.string(), ''),
  minLength: v.optional(v.number(), 0),
  minimum: v.optional(v.number(), Number.NEGATIVE_INFINITY),
  maximum: v.optional(v.number(), Number.POSITIVE_INFINITY),
  description: v.optional(v.string()),
})

/** Whether a value matches a JSON schema. Supports the keywords that the demo uses, and throws on others. */
function fits(value: unknown, source: unknown): boolean {
  const schema = v.parse(v.strictObject(Schema.entries), source)
  if (ofType[schema.type]?.(value) !== true) return false
  if (schema.enum && !schema.enum.includes(value)) return false
  if (typeof value === 'string') return value.length >= schema.minLength && new RegExp(schema.pattern).test(value)
  if (typeof value === 'number') return value >= schema.minimum && value <= schema.maximum
  if (Array.isArray(value)) return value.every(item => fits(item, schema.items))
  if (!isJsonObject(value)) return true
  const known = schema.properties
  return (
    schema.required.every(field => field in value) &&
    Object.keys(value).every(field => (field in known ? fits(value[field], known[field]) : schema.additionalProperties))
  )
}
