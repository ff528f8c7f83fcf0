import type { Fields, Invoice } from './invoice-document.ts'
import type { Flaw, Opinion } from './trace.ts'

/** An extraction in which the model, the supplier or the reviewer was wrong. */
export interface InvoiceCase {
  flaw: Flaw
  /** What stands on the document, where that is not the invoice as it should be. */
  printed?: (invoice: Invoice) => Invoice
  /** The document shows no VAT id. */
  hidesVatId?: boolean
  /** What was read, given what should have been read. */
  read: (fields: Required<Fields>) => Fields
  /** What a reviewer said, given what should have been read. */
  opinion?: (fields: Required<Fields>) => Opinion
}

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
  },
  {
    flaw: 'transposed_digits',
    read: fields => ({ ...fields, invoice_number: transposed(fields.invoice_number) }),
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
    flaw: 'missing_field',
    read: ({ due_date: _, ...fields }) => fields,
    opinion: ({ due_date }) => ({
      rating: 'negative',
      comment: 'The due date stands right below the invoice date.',
      correction: { due_date },
      stepId: 'extract-fields',
    }),
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
  },
  {
    flaw: 'misread_number',
    read: ({ lines: [first, ...others], ...fields }) => ({
      ...fields,
      lines: first ? [{ ...first, quantity: first.quantity * 10 }, ...others] : [],
    }),
  },
]

/** Swaps the last two neighbouring digits that differ. */
const transposed = (digits: string): string => digits.replace(/^(.*)(\d)(?!\2)(\d)/, '$1$3$2')

function transposedAmount(amount: number): number {
  const [whole = '', cents = ''] = amount.toFixed(2).split('.')
  return Number(`${transposed(whole)}.${cents}`)
}
