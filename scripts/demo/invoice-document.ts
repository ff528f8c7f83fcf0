import { LAYOUTS, type Layout, type Supplier } from './invoice-suppliers.ts'
import type { Random } from './random.ts'
import { isoTime } from './trace.ts'

/** An invoice's contents. All amounts are in cents, so that sums are exact. */
export interface Invoice {
  supplier: Supplier
  number: string
  issued: string
  due: string
  lines: readonly InvoiceLine[]
  net: number
  tax: number
  total: number
}

interface InvoiceLine {
  description: string
  quantity: number
  unit: string
  unitPrice: number
  amount: number
}

const DAY_MS = 86_400_000
const LINES_PER_PAGE = 34

/** An invoice received at this time. Its amounts add up. */
export function newInvoice(supplier: Supplier, receivedAt: number, lineCount: number, random: Random): Invoice {
  const issuedAt = receivedAt - random.whole(1, 6) * DAY_MS
  const lines = Array.from({ length: lineCount }, (_, index) => newLine(supplier, index, lineCount, random))
  const net = lines.reduce((sum, { amount }) => sum + amount, 0)
  const tax = Math.round((net * supplier.taxRate) / 100)
  return {
    supplier,
    number: supplier.series + random.digits(5),
    issued: isoTime(issuedAt).slice(0, 10),
    due: isoTime(issuedAt + supplier.terms * DAY_MS).slice(0, 10),
    lines,
    net,
    tax,
    total: net + tax,
  }
}

function newLine({ catalog }: Supplier, index: number, lineCount: number, random: Random): InvoiceLine {
  const [name, unit, unitPrice] = catalog[index % catalog.length] ?? ['', '', 0]
  const quantity = unitPrice > 3000 ? random.whole(1, 6) : random.whole(2, 60)
  // A long invoice repeats the same names with different article numbers.
  const description = lineCount > catalog.length ? `${name}, art. ${random.digits(4)}-${random.digits(3)}` : name
  return { description, quantity, unit, unitPrice, amount: quantity * unitPrice }
}

/** The text on an invoice's pages, line by line, as read from the document. */
export function textLines(invoice: Invoice, { hidesVatId = false } = {}): string[] {
  const { supplier, lines } = invoice
  const layout = LAYOUTS[supplier.layout]
  const amount = (cents: number) => writtenAmount(cents, supplier.layout)
  const date = (iso: string) => writtenDate(iso, supplier.layout)
  const row = (cells: readonly string[]) =>
    WIDTHS.map(([width, side], index) =>
      side === 'left' ? (cells[index] ?? '').padEnd(width) : (cells[index] ?? '').padStart(width),
    )
      .join(' ')
      .trimEnd()
  const rows = lines.map((line, index) =>
    row([
      String(index + 1),
      line.description,
      `${line.quantity} ${line.unit}`,
      amount(line.unitPrice),
      amount(line.amount),
    ]),
  )
  const pages = pageCount(invoice)
  const paged = rows.flatMap((text, index) =>
    index > 0 && index % LINES_PER_PAGE === 0
      ? [`${layout.page} ${index / LINES_PER_PAGE + 1} / ${pages}`, text]
      : [text],
  )
  return [
    supplier.name,
    `${supplier.street}, ${supplier.postalCode} ${supplier.city}, ${supplier.country}`,
    ...(hidesVatId ? [] : [`${layout.vatId} ${supplier.vatId}`]),
    layout.title,
    `${layout.billTo}: Larkfield GmbH, Hafenallee 12, 20457 Hamburg, DE`,
    `${layout.number} ${invoice.number}`,
    `${layout.issued}: ${date(invoice.issued)}`,
    `${layout.due}: ${date(invoice.due)}`,
    row(layout.table),
    ...paged,
    `${layout.net} ${amount(invoice.net)} ${supplier.currency}`,
    `${layout.tax} ${supplier.taxRate} % ${amount(invoice.tax)} ${supplier.currency}`,
    `${layout.total} ${amount(invoice.total)} ${supplier.currency}`,
    layout.thanks,
  ]
}

const WIDTHS = [
  [3, 'left'],
  [46, 'left'],
  [11, 'right'],
  [11, 'right'],
  [12, 'right'],
] as const

/** The number of pages in an invoice. */
export const pageCount = ({ lines }: Invoice): number => Math.max(1, Math.ceil(lines.length / LINES_PER_PAGE))

/** An amount in a layout's notation: 1,234.50 or 1.234,50. */
function writtenAmount(cents: number, layout: Layout): string {
  const { decimal, group } = LAYOUTS[layout]
  const whole = String(Math.floor(cents / 100)).replace(/\B(?=(\d{3})+$)/g, group)
  return `${whole}${decimal}${String(cents % 100).padStart(2, '0')}`
}

/** A date in a layout's notation. */
function writtenDate(iso: string, layout: Layout): string {
  const [year = '', month = '', day = ''] = iso.split('-')
  return LAYOUTS[layout].date(year, month, day)
}

/**
 * The fields that the pipeline reads from an invoice. A type alias instead of an interface, so that the compiler
 * accepts it as JSON.
 */
export type Fields = {
  supplier: {
    name: string
    vat_id: string
    address: { street: string; postal_code: string; city: string; country: string }
  }
  invoice_number: string
  issue_date: string
  due_date?: string
  currency: string
  lines: { description: string; quantity: number; unit_price: number; amount: number }[]
  net: number
  tax: { rate: number; amount: number }
  total: number
}

/** The correct fields of an invoice. */
export const fieldsOf = ({ supplier, number, issued, due, lines, net, tax, total }: Invoice): Required<Fields> => ({
  supplier: {
    name: supplier.name,
    vat_id: supplier.vatId,
    address: {
      street: supplier.street,
      postal_code: supplier.postalCode,
      city: supplier.city,
      country: supplier.country,
    },
  },
  invoice_number: number,
  issue_date: issued,
  due_date: due,
  currency: supplier.currency,
  lines: lines.map(({ description, quantity, unitPrice, amount }) => ({
    description,
    quantity,
    unit_price: unitPrice / 100,
    amount: amount / 100,
  })),
  net: net / 100,
  tax: { rate: supplier.taxRate, amount: tax / 100 },
  total: total / 100,
})

/** A difference between a field and the value computed from the other fields. */
type Difference = { field: string; expected: number; found: number }

/** Adds up the fields in cents, and lists the differences. */
export function validateTotals({ lines, net, tax, total }: Fields) {
  const sum = lines.reduce((cents, line) => cents + inCents(line.amount), 0)
  const checks = [
    ...lines.map((line, index) =>
      difference(`lines.${index}.amount`, line.quantity * inCents(line.unit_price), line.amount),
    ),
    difference('net', sum, net),
    difference('tax.amount', Math.round((inCents(net) * tax.rate) / 100), tax.amount),
    difference('total', inCents(net) + inCents(tax.amount), total),
  ]
  const differences = checks.filter(each => each !== undefined)
  return { ok: differences.length === 0, differences }
}

const difference = (field: string, expectedCents: number, found: number): Difference | undefined =>
  expectedCents === inCents(found) ? undefined : { field, expected: expectedCents / 100, found }

/** Converts an amount to cents, because only whole cents add up exactly. */
const inCents = (amount: number): number => Math.round(amount * 100)
