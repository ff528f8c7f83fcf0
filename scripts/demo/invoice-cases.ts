import type { Fields, Invoice } from './invoice-document.ts'
import type { Flaw, Objection, Opinion } from './trace.ts'

/** An extraction in which the model, the supplier or the reviewer was wrong. */
export interface InvoiceCase {
  flaw: Flaw
  /** The invoice as printed, if it differs from what it should be. */
  printed?: (invoice: Invoice) => Invoice
  /** The document has no VAT id. */
  hidesVatId?: boolean
  /** The extracted fields, given the right ones. */
  read: (fields: Required<Fields>) => Fields
  /** A reviewer's opinion, given the right fields. */
  opinion?: (fields: Required<Fields>) => Opinion
  /** The mistake, in a reviewer's words. */
  why?: string
  /** The document lacks what the schema requires, so no output can be right. */
  cannotBeRight?: boolean
  /** If nothing is wrong: the reason of a reviewer who wrongly corrects the output as the opinion says. */
  objection?: Objection
}

const HANDLING_FEE = { description: 'Handling fee', quantity: 1, unit_price: 12.5, amount: 12.5 }

const asPrinted = (fields: Required<Fields>): Fields => fields

export const INVOICE_CASES: readonly InvoiceCase[] = [
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, total: transposedAmount(fields.total) }),
    opinion: ({ total }) => ({
      rating: 'negative',
      comment: 'Two digits of the total are swapped. The validation saw it, too.',
      correction: { total },
      stepId: 'extract-fields',
    }),
    why: 'Two digits of the total are swapped. Net and tax are right and add up to another number.',
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, net: transposedAmount(fields.net) }),
    why: 'The net total has two digits the wrong way round; the lines add up to the one that is printed.',
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, invoice_number: transposed(fields.invoice_number) }),
    why: 'Compared with the scan digit by digit: the last two different digits of the number are the wrong way round.',
  },
  {
    flaw: 'missing_line',
    read: fields => ({ ...fields, lines: fields.lines.slice(1) }),
    why: 'It took the first line for a part of the heading. Position 1 is missing.',
  },
  {
    flaw: 'missing_line',
    read: fields => ({ ...fields, lines: fields.lines.slice(0, -1) }),
    opinion: ({ lines }) => ({
      rating: 0.2,
      comment: 'The last line of the table is missing, so the lines do not add up to the net total.',
      correction: { lines },
      stepId: 'extract-fields',
    }),
    why: 'The table has one line more than we read, the one right above the net total.',
  },
  {
    flaw: 'dropped_prefix',
    read: fields => ({ ...fields, invoice_number: fields.invoice_number.slice(-5) }),
    why: 'The number without its prefix. “Exactly as printed, with all prefixes” could not be clearer, and the supplier will not find our payment.',
  },
  {
    flaw: 'swapped_dates',
    read: fields => ({ ...fields, issue_date: fields.due_date, due_date: fields.issue_date }),
    opinion: ({ issue_date, due_date }) => ({
      rating: 'negative',
      comment: 'An invoice cannot be due before it was issued.',
      correction: { issue_date, due_date },
      stepId: 'extract-fields',
    }),
    why: 'Due before it was issued. The two dates were put into each other’s field.',
  },
  {
    flaw: 'misread_number',
    read: fields => ({ ...fields, total: fields.net }),
    why: 'This is the net total once more. The total due is one line further down, below the tax.',
  },
  {
    flaw: 'contradictory_input',
    printed: invoice => ({ ...invoice, total: invoice.total + 900 }),
    read: asPrinted,
    opinion: ({ net, tax, total }) => ({
      rating: 'negative',
      comment: 'Read as printed, but the supplier added up wrongly. We have to ask for a new invoice.',
      correction: { net, tax, total: Math.round((net + tax.amount) * 100) / 100, remark: `printed total is ${total}` },
    }),
  },
  {
    flaw: 'misread_number',
    read: fields => ({ ...fields, tax: { ...fields.tax, rate: fields.tax.rate / 10 } }),
    why: 'The rate lost a place: the tax that is printed is ten times this share of the net total.',
  },
  {
    flaw: 'missing_field',
    read: ({ due_date: _, ...fields }) => fields,
    opinion: ({ due_date }) => ({
      rating: 'negative',
      comment: 'The due date stands right below the invoice date.',
      correction: { due_date },
      stepId: 'extract-fields',
    }),
    why: 'The due date is printed below the invoice date, and the schema wants it since 6 November.',
  },
  {
    flaw: 'invented_fact',
    read: fields => ({ ...fields, lines: [...fields.lines, HANDLING_FEE] }),
    why: 'I find no handling fee on the scan. Without it the lines come to the net total.',
  },
  {
    flaw: 'invented_fact',
    hidesVatId: true,
    read: fields => ({
      ...fields,
      supplier: { ...fields.supplier, vat_id: `${fields.supplier.vat_id.slice(0, 2)}123456789` },
    }),
    opinion: () => ({
      rating: 'negative',
      comment: 'There is no VAT id on this document. Where does this one come from?',
      stepId: 'extract-fields',
    }),
    cannotBeRight: true,
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, invoice_number: transposed(fields.invoice_number) }),
    why: 'Number misread: two neighbors swapped at the end. We have paid an invoice twice because of this before.',
  },
  {
    flaw: 'mistaken_reviewer',
    read: asPrinted,
    opinion: ({ net }) => ({
      rating: 'negative',
      comment: 'The total should be the net amount.',
      correction: { total: net },
      stepId: 'extract-fields',
    }),
    objection: {
      why: 'We book net amounts, so the total should be the net amount.',
      overruled:
        'The total is what is printed as the total, tax included. Nobody asked the extraction for what we book.',
    },
  },
  {
    flaw: 'missing_line',
    read: fields => ({ ...fields, lines: fields.lines.filter((_, index) => index !== 1) }),
    why: 'From position 1 straight to position 3. The second line is on the scan, a little paler than the others.',
  },
  {
    flaw: 'misread_number',
    read: ({ lines: [first, ...others], ...fields }) => ({
      ...fields,
      lines: first ? [{ ...first, quantity: first.quantity * 10 }, ...others] : [],
    }),
    why: 'The first quantity is ten times too high; with the unit price it does not come to the amount of the line.',
  },
  {
    flaw: 'misread_number',
    read: fields => ({ ...fields, tax: { ...fields.tax, amount: fields.net } }),
    why: 'The tax cannot be as high as the net total. The row was read from the left instead of from the right.',
  },
]

/** Swaps the last two neighboring digits that differ. */
const transposed = (digits: string): string => digits.replace(/^(.*)(\d)(?!\2)(\d)/, '$1$3$2')

function transposedAmount(amount: number): number {
  const [whole = '', cents = ''] = amount.toFixed(2).split('.')
  return Number(`${transposed(whole)}.${cents}`)
}
