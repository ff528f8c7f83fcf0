import type { Json, JsonObject } from '../../src/domain/json.ts'
import { itemAt, type Random, seededRandom } from './random.ts'
import { PRODUCTS } from './support-handbook.ts'
import {
  approval,
  caseAt,
  type DemoTrace,
  ERROR_TYPE_OF_FLAW,
  endingAt,
  type Mistake,
  type Step,
  stepsUntil,
  workingTimes,
} from './trace.ts'
import {
  CATEGORIES,
  type Category,
  type Label,
  PRESSING,
  PRIORITIES,
  type Priority,
  TICKETS,
  TRIAGE_CASES,
} from './triage-tickets.ts'
import { mistakesIn } from './truth.ts'
import { fill, type PromptHistory, versionAt } from './versions.ts'

/** A triage run, and the correct label for its ticket. */
export interface TriageTrace extends DemoTrace {
  right: Required<Label>
}

const PIPELINE = 'ticket-triage'
const COUNT = 80
const WEEKEND = [0, 6]

const classification = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const LABELS = {
  category: { type: 'string', enum: [...CATEGORIES] },
  priority: { type: 'string', enum: [...PRIORITIES] },
  language: { type: 'string', pattern: '^[a-z]{2}$' },
}

export const CLASSIFY: PromptHistory = {
  stepId: 'classify',
  text: `
You sort the tickets that reach the customer service of an online shop for small household and outdoor devices. You read
the subject and the text of one ticket.

Category: choose one, based on what the customer wants us to do, not on individual words
- billing: charges, invoices, payment reminders, installments, gift cards
- delivery: packages on their way, missing, opened or sent to the wrong address
- returns: sending something back or exchanging it, labels and the state of a return
- technical: a device or its app does not work as it should
- account: sign-in, passwords, personal data, closing an account
- other: praise, suggestions, press, jobs, and anything that doesn't fit elsewhere

Priority
- urgent: {urgent}
- high: the customer is writing for the second time or needs an answer by the next day
- low: the customer says that it can wait
- normal: everything else

Language: the two-letter code of the language of the text.
{confidence}

{several}
Return JSON with {fields}, and nothing else.
`,
  versions: [
    {
      since: '2026-09-14',
      note: 'First version',
      slots: {
        urgent: 'heat, smoke, an electric shock',
        confidence: '',
        several: '',
        fields: '"category", "priority" and "language"',
      },
      outputSchema: classification(LABELS),
    },
    {
      since: '2026-10-31',
      note: 'Adds a confidence score, so that a person can check uncertain tickets first',
      slots: {
        confidence: 'Confidence: a number from 0 to 1. Below 0.6, a person reads the ticket before it is routed.',
        fields: '"category", "priority", "language" and "confidence"',
      },
      outputSchema: classification({ ...LABELS, confidence: { type: 'number', minimum: 0, maximum: 1 } }),
    },
    {
      since: '2026-11-12',
      note: 'Accounts used by someone else are also urgent; explains how to label tickets with two requests',
      slots: {
        urgent: 'heat, smoke, an electric shock, or an account or card that someone else uses',
        several: 'If a ticket has two requests, label the one that must be handled first.\n',
      },
      outputSchema: classification({ ...LABELS, confidence: { type: 'number', minimum: 0, maximum: 1 } }),
    },
    {
      note: 'Draft: customers with a broken device wait too long',
      slots: {
        urgent: 'heat, smoke, an electric shock, an account or card that someone else uses, or a broken device',
      },
      outputSchema: classification({ ...LABELS, confidence: { type: 'number', minimum: 0, maximum: 1 } }),
    },
  ],
}

const TEAMS: Record<Category, string> = {
  billing: 'accounting',
  delivery: 'logistics',
  returns: 'logistics',
  technical: 'workshop',
  account: 'customer-care',
  other: 'customer-care',
}

/** The first version of the route prompt that includes the on-call desk for urgent tickets. */
const WITH_ON_CALL_DESK = 2

const routing = (teams: Iterable<string>): JsonObject => ({
  type: 'object',
  properties: {
    team: { type: 'string', enum: [...new Set(teams)] },
    reason: { type: 'string', minLength: 1 },
  },
  required: ['team', 'reason'],
  additionalProperties: false,
})

export const ROUTE: PromptHistory = {
  stepId: 'route',
  text: `
You hand a labeled ticket to the team that can resolve it. You are given its category and its priority.

Teams
- accounting: billing
- logistics: delivery and returns
- workshop: technical
- customer-care: account and other
{onCallDesk}

Give the reason in one short sentence that names the category{also}. The team sees it above the ticket. Do not repeat
the customer's text in it, and do not add anything that the labels do not say.

Return JSON with "team" and "reason", and nothing else.
`,
  versions: [
    {
      since: '2026-09-14',
      note: 'First version',
      slots: { onCallDesk: '', also: '' },
      outputSchema: routing(Object.values(TEAMS)),
    },
    {
      since: '2026-11-06',
      note: "Urgent tickets waited in the teams' queues for hours, so now they go to the on-call desk",
      slots: {
        onCallDesk: '- on-call-desk: everything urgent, in any category. It is staffed until 22:00 every day.',
        also: ' and the priority',
      },
      outputSchema: routing([...Object.values(TEAMS), 'on-call-desk']),
    },
  ],
}

/** The runs of the triage pipeline, oldest first. */
export function triageTraces(): TriageTrace[] {
  const random = seededRandom('triage')
  const startTimes = workingTimes(COUNT, WEEKEND, random)
  const tickets = random.shuffle(TICKETS)
  return startTimes.map((startedAt, index) => triageTrace(index, startedAt, itemAt(tickets, index)))
}

function triageTrace(index: number, startedAt: number, template: (typeof TICKETS)[number]): TriageTrace {
  const key = `triage/${index}`
  const random = seededRandom(key)
  const triageCase = caseAt(TRIAGE_CASES, index)
  const { subject, text, label, right } = triageCase ?? writtenTicket(template, random)
  const confidence = (triageCase ? random.whole(55, 78) : random.whole(81, 99)) / 100
  const version = versionAt(CLASSIFY, startedAt)
  const known = CLASSIFY.versions[version - 1]?.outputSchema.properties
  const classified = onlyKnown({ ...label, confidence }, known)
  const correctlyClassified = onlyKnown({ ...right, confidence }, known)
  const correctlyRouted = route(right, versionAt(ROUTE, startedAt))
  const routed = {
    ...route(label, versionAt(ROUTE, startedAt)),
    ...(triageCase?.team !== undefined && { team: triageCase.team }),
  }
  const result = { ...classified, team: routed.team }
  const rightResult = { ...correctlyClassified, team: correctlyRouted.team }
  const mistakes: ReadonlyMap<string, Mistake> = triageCase
    ? mistakesIn(
        [
          { stepId: 'classify', output: classified, right: correctlyClassified },
          { stepId: 'route', output: routed, right: correctlyRouted },
          { stepId: PIPELINE, output: result, right: rightResult },
        ],
        {
          errorType: ERROR_TYPE_OF_FLAW[triageCase.flaw],
          why: triageCase.why ?? '',
          slots: { ...right, team: correctlyRouted.team },
          random: seededRandom(`truth of ${key}`),
        },
      )
    : new Map()
  const objection = triageCase?.objection && {
    ...triageCase.objection,
    approvedOutput: { ...classified, ...triageCase.opinion?.correction },
    errorType: ERROR_TYPE_OF_FLAW[triageCase.flaw],
  }
  const steps: Step[] = [
    {
      stepId: 'classify',
      input: { subject, text },
      output: classified,
      mistake: mistakes.get('classify'),
      objection,
      promptVersion: version,
      workMs: random.whole(240, 900),
    },
    {
      stepId: 'route',
      input: { category: label.category, priority: label.priority ?? null },
      output: routed,
      mistake: mistakes.get('route'),
      promptVersion: versionAt(ROUTE, startedAt),
      workMs: random.whole(120, 400),
    },
  ]
  const ending = endingAt(index)
  return {
    key,
    project: 'support',
    name: PIPELINE,
    startedAt,
    metadata: {
      group_id: `ticket-${random.digits(5)}`,
      channel: random.pick(['email', 'email', 'form']),
      language: right.language,
      customer: { tier: random.pick(['standard', 'standard', 'gold']), id: `C-${random.digits(5)}` },
    },
    input: { subject, text },
    state: { config: { model: 'classifier-tiny-3', temperature: 0 } },
    steps: stepsUntil(ending, steps, FAILURE),
    ...(ending === 'completed' && { output: result }),
    mistake: mistakes.get(PIPELINE),
    ending,
    opinion: triageCase ? triageCase.opinion : approval(ending, PRAISE, ['classify', 'route'], random),
    flaw: triageCase?.flaw ?? null,
    right,
  }
}

const PRAISE = [
  'Right team.',
  'The priority is right.',
  'Agreed.',
  'Good: it follows from the second sentence.',
  'The label is correct.',
]

const FAILURE = {
  stepId: 'classify',
  error: { type: 'timeout', message: 'The model did not respond within 5000 ms' },
  workMs: 5000,
}

/** A ticket from its template, with details filled in and phrases that change its priority. */
function writtenTicket(template: (typeof TICKETS)[number], random: Random) {
  const { category, language } = template
  const priority = random.pick(PRIORITY_SHARES[category])
  const slots = {
    product: random.pick(PRODUCTS),
    order: `LF-${random.digits(6)}`,
    amount: `${random.whole(12, 240)}.${random.pick(['90', '50', '00', '95'])}`,
    days: String(random.whole(3, 9)),
  }
  const text = `${fill(template.text, slots)} ${random.pick(PRESSING[language][priority])}`.trim()
  const label = { category, priority, language }
  return { subject: fill(template.subject, slots), text, label, right: label }
}

/** How often each priority occurs in a category. Only technical tickets are urgent: they report dangerous devices. */
const PRIORITY_SHARES: Record<Category, readonly Priority[]> = {
  billing: ['normal', 'normal', 'normal', 'high', 'low'],
  delivery: ['normal', 'normal', 'high', 'high', 'low'],
  returns: ['normal', 'normal', 'normal', 'high', 'low'],
  technical: ['normal', 'normal', 'urgent', 'high', 'low'],
  account: ['normal', 'normal', 'high'],
  other: ['normal', 'low'],
}

/** Those of an answer's fields that the schema allowed at the time. */
const onlyKnown = (answer: JsonObject, properties: Json | undefined): JsonObject =>
  Object.fromEntries(Object.entries(answer).filter(([field]) => Object.keys(properties ?? {}).includes(field)))

function route({ category, priority }: Label, version: number) {
  const isForOnCallDesk = version >= WITH_ON_CALL_DESK && priority === 'urgent'
  const named = version >= WITH_ON_CALL_DESK && priority ? `, ${priority} priority` : ''
  return {
    team: isForOnCallDesk ? 'on-call-desk' : TEAMS[category],
    reason: `The ticket is about ${REASONS[category]}${named}.`,
  }
}

const REASONS: Record<Category, string> = {
  billing: 'billing',
  delivery: 'delivery',
  returns: 'returns',
  technical: 'a technical problem',
  account: "the customer's account",
  other: 'something else',
}
