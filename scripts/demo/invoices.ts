import { INVOICE_CASES, type InvoiceCase } from './invoice-cases.ts'
import { type Fields, fieldsOf, newInvoice, pageCount, textLines, validateTotals } from './invoice-document.ts'
import { EXTRACT_FIELDS } from './invoice-prompts.ts'
import { SUPPLIERS, type Supplier } from './invoice-suppliers.ts'
import { type Random, seededRandom } from './random.ts'
import {
  approval,
  caseAt,
  type DemoTrace,
  ERROR_TYPE_OF_FLAW,
  endingAt,
  isoTime,
  type Step,
  stepsUntil,
  workingTimes,
} from './trace.ts'
import { mistakesIn } from './truth.ts'
import { versionAt } from './versions.ts'

const PIPELINE = 'invoice-extraction'
const COUNT = 90
const WEEKEND = [0, 6]
/** Enough lines for a value over 8 KiB, the size at which the service starts to store values outside their rows. */
const LONG_LINE_COUNT = 120

/** The runs of the invoice pipeline, oldest first. */
export function invoiceTraces(): DemoTrace[] {
  const random = seededRandom('invoices')
  const startTimes = workingTimes(COUNT, WEEKEND, random)
  return startTimes.map((startedAt, index) => invoiceTrace(index, startedAt, random.pick(SUPPLIERS)))
}

function invoiceTrace(index: number, startedAt: number, usualSupplier: Supplier): DemoTrace {
  const key = `invoices/${index}`
  const random = seededRandom(key)
  const invoiceCase = caseAt(INVOICE_CASES, index)
  const isLong = index % 45 === 20
  const supplier = isLong ? LARGEST : usualSupplier
  const lineCount = isLong ? LONG_LINE_COUNT : random.whole(2, supplier.catalog.length)
  const sound = newInvoice(supplier, startedAt, lineCount, random)
  const invoice = invoiceCase?.printed?.(sound) ?? sound
  const printed = fieldsOf(invoice)
  const fields = invoiceCase?.read(printed) ?? printed
  const document = { id: `doc-${random.digits(6)}`, pages: pageCount(invoice) }
  const mailbox = supplier.layout === 'english' ? 'invoices@larkfield.example' : 'rechnung@larkfield.example'
  const day = isoTime(startedAt).slice(0, 10)
  const ending = endingAt(index)
  const truth = invoiceCase && truthOfCase(invoiceCase, { fields, printed, random: seededRandom(`truth of ${key}`) })
  const steps = stepsOf({ lines: textLines(invoice, invoiceCase), fields, document, day, startedAt, random })
  return {
    key,
    project: 'back-office',
    name: PIPELINE,
    startedAt,
    metadata: { group_id: `inbox-${day}`, document, supplier: supplier.name, mailbox },
    input: { document: document.id, pages: document.pages, received_from: mailbox },
    state: { config: { ocr: 'page-reader-4', model: 'extractor-medium-1', temperature: 0 } },
    steps: stepsUntil(
      ending,
      steps.map(step => (step.stepId === 'extract-fields' ? { ...step, ...truth?.ofExtraction } : step)),
      random.pick(FAILURES),
    ),
    ...(ending === 'completed' && { output: resultOf(fields) }),
    mistake: truth?.ofResult,
    ending,
    opinion: invoiceCase ? invoiceCase.opinion?.(printed) : approval(ending, PRAISE, REVIEWED_STEPS, random),
    flaw: invoiceCase?.flaw ?? null,
  }
}

/** The result for accounting. If an invoice doesn't add up, accounting checks it before booking it. */
const resultOf = (fields: Fields) => ({
  invoice_number: fields.invoice_number,
  total: fields.total,
  currency: fields.currency,
  status: validateTotals(fields).ok ? 'ready_to_book' : 'needs_attention',
})

/** The mistakes in a case's extracted fields, and in the outputs that follow from them. */
function truthOfCase(
  { flaw, why = '', cannotBeRight, objection, opinion }: InvoiceCase,
  { fields, printed, random }: { fields: Fields; printed: Required<Fields>; random: Random },
) {
  const errorType = ERROR_TYPE_OF_FLAW[flaw]
  const result = resultOf(printed)
  const mistakes = mistakesIn(
    [
      { stepId: 'extract-fields', output: fields, right: printed },
      { stepId: PIPELINE, output: resultOf(fields), right: result },
    ],
    { errorType, why, slots: { ...result, total: result.total.toFixed(2) }, random },
  )
  const approvedOutput = { ...fields, ...opinion?.(printed).correction }
  return {
    ofExtraction: {
      mistake: cannotBeRight ? { errorType, why } : mistakes.get('extract-fields'),
      objection: objection && { ...objection, approvedOutput, errorType },
    },
    ofResult: mistakes.get(PIPELINE),
  }
}

const LARGEST = SUPPLIERS.reduce((most, each) => (each.catalog.length > most.catalog.length ? each : most))

const PRAISE = [
  'Checked all fields against the scan.',
  'Correct, even across the page break.',
  'Correct.',
  'Matches the order.',
  'The dates are correct this time.',
]

const FAILURES = [
  {
    stepId: 'read-document',
    error: { type: 'unreadable_document', message: 'Page 1 has no text: the scan is blank or upside down' },
    workMs: 1840,
  },
  {
    stepId: 'extract-fields',
    error: { type: 'timeout', message: 'The model did not respond within 30000 ms' },
    workMs: 30_000,
  },
]

const REVIEWED_STEPS = ['extract-fields', 'read-document']

interface RunContext {
  lines: string[]
  fields: Fields
  document: { id: string; pages: number }
  day: string
  startedAt: number
  random: Random
}

const stepsOf = ({ lines, fields, document, day, startedAt, random }: RunContext): Step[] => [
  {
    stepId: 'read-document',
    input: { reference: `inbox/${day}/${document.id}.pdf`, pages: document.pages },
    output: { text_lines: lines },
    workMs: document.pages * random.whole(380, 760),
  },
  {
    stepId: 'extract-fields',
    input: { document: document.id, line_count: lines.length },
    output: fields,
    promptVersion: versionAt(EXTRACT_FIELDS, startedAt),
    state: { documents: [document] },
    workMs: random.whole(1400, 3800) + 20 * lines.length,
  },
  {
    stepId: 'validate-totals',
    input: { invoice_number: fields.invoice_number },
    output: validateTotals(fields),
    workMs: random.whole(2, 9),
  },
]
