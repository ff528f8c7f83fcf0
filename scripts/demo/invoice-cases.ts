import type { Fields, Invoice } from './invoice-document.ts'
import type { Flaw, Objection, Opinion } from './trace.ts'

/** An extraction in which the model, the supplier, or the reviewer was wrong. */
export interface InvoiceCase {
  flaw: Flaw
  /** The invoice as printed, if it's wrong. */
  printed?: (invoice: Invoice) => Invoice
  /** The document has no VAT ID. */
  hidesVatId?: boolean
  /** The extracted fields, computed from the correct ones. */
  read: (fields: Required<Fields>) => Fields
  /** A reviewer's opinion, computed from the correct fields. */
  opinion?: (fields: Required<Fields>) => Opinion
  /** The mistake, in a reviewer's words. */
  why?: string
  /** The document lacks a field that the schema requires, so no output can be correct. */
  cannotBeRight?: boolean
  /** If nothing is wrong: the reason given by a reviewer who wrongly makes the correction in `opinion`. */
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
      comment: 'Two digits of the total are swapped. The validation caught it as well.',
      correction: { total },
      stepId: 'extract-fields',
    }),
    why: 'Two digits of the total are swapped. Net and tax are correct and add up to a different number.',
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, net: transposedAmount(fields.net) }),
    why: 'Two digits of the net total are swapped. The lines add up to the printed one.',
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, invoice_number: transposed(fields.invoice_number) }),
    why: 'I compared it with the scan digit by digit: the last two different digits of the number are swapped.',
  },
  {
    flaw: 'missing_line',
    read: fields => ({ ...fields, lines: fields.lines.slice(1) }),
    why: 'It read the first line as part of the heading. Line 1 is missing.',
  },
  {
    flaw: 'missing_line',
    read: fields => ({ ...fields, lines: fields.lines.slice(0, -1) }),
    opinion: ({ lines }) => ({
      rating: 0.2,
      comment: "The last line of the table is missing, so the lines don't add up to the net total.",
      correction: { lines },
      stepId: 'extract-fields',
    }),
    why: 'We missed a line of the table, the one right above the net total.',
  },
  {
    flaw: 'dropped_prefix',
    read: fields => ({ ...fields, invoice_number: fields.invoice_number.slice(-5) }),
    why: "The number lacks its prefix. “Exactly as printed, with all prefixes” couldn't be clearer, and the supplier won't be able to match our payment.",
  },
  {
    flaw: 'swapped_dates',
    read: fields => ({ ...fields, issue_date: fields.due_date, due_date: fields.issue_date }),
    opinion: ({ issue_date, due_date }) => ({
      rating: 'negative',
      comment: "An invoice can't be due before it's issued.",
      correction: { issue_date, due_date },
      stepId: 'extract-fields',
    }),
    why: "It's due before it was issued. The two dates are in each other's fields.",
  },
  {
    flaw: 'misread_number',
    read: fields => ({ ...fields, total: fields.net }),
    why: 'This is the net total again. The total due is one line down, below the tax.',
  },
  {
    flaw: 'contradictory_input',
    printed: invoice => ({ ...invoice, total: invoice.total + 900 }),
    read: asPrinted,
    opinion: ({ net, tax, total }) => ({
      rating: 'negative',
      comment: "It was read as printed, but the supplier's sum is wrong. We have to ask for a new invoice.",
      correction: { net, tax, total: Math.round((net + tax.amount) * 100) / 100, remark: `printed total is ${total}` },
    }),
  },
  {
    flaw: 'misread_number',
    read: fields => ({ ...fields, tax: { ...fields.tax, rate: fields.tax.rate / 10 } }),
    why: 'The rate lost a digit: the printed tax is ten times this share of the net total.',
  },
  {
    flaw: 'missing_field',
    read: ({ due_date: _, ...fields }) => fields,
    opinion: ({ due_date }) => ({
      rating: 'negative',
      comment: 'The due date is right below the invoice date.',
      correction: { due_date },
      stepId: 'extract-fields',
    }),
    why: 'The due date is printed below the invoice date, and the schema has required it since November 6.',
  },
  {
    flaw: 'invented_fact',
    read: fields => ({ ...fields, lines: [...fields.lines, HANDLING_FEE] }),
    why: "There's no handling fee on the scan. Without it, the lines add up to the net total.",
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
      comment: "There's no VAT ID on this document. Where did this one come from?",
      stepId: 'extract-fields',
    }),
    cannotBeRight: true,
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, invoice_number: transposed(fields.invoice_number) }),
    why: "It misread the number: two digits at the end are swapped. We've paid an invoice twice because of this before.",
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
      overruled: "The total is the printed total, including tax. The extraction isn't supposed to return what we book.",
    },
  },
  {
    flaw: 'missing_line',
    read: fields => ({ ...fields, lines: fields.lines.filter((_, index) => index !== 1) }),
    why: 'It goes from line 1 straight to line 3. The second line is on the scan, slightly fainter than the others.',
  },
  {
    flaw: 'misread_number',
    read: ({ lines: [first, ...others], ...fields }) => ({
      ...fields,
      lines: first ? [{ ...first, quantity: first.quantity * 10 }, ...others] : [],
    }),
    why: "The first quantity is ten times too high: multiplied by the unit price, it doesn't give the line's amount.",
  },
  {
    flaw: 'misread_number',
    read: fields => ({ ...fields, tax: { ...fields.tax, amount: fields.net } }),
    why: "The tax can't be as high as the net total. The row was read from left to right instead of right to left.",
  },
]

/** Swaps the last two neighboring digits that differ. */
const transposed = (digits: string): string => digits.replace(/^(.*)(\d)(?!\2)(\d)/, '$1$3$2')

function transposedAmount(amount: number): number {
  const [whole = '', cents = ''] = amount.toFixed(2).split('.')
  return Number(`${transposed(whole)}.${cents}`)
}
