import type { JsonObject } from '../../src/domain/json.ts'
import type { PromptHistory } from './versions.ts'

const STRING = { type: 'string', minLength: 1 }
const DATE = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }
const AMOUNT = { type: 'number' }

const object = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const ADDRESS = object({ street: STRING, postal_code: STRING, city: STRING, country: STRING })
const LINE = object({ description: STRING, quantity: { type: 'number' }, unit_price: AMOUNT, amount: AMOUNT })

const FIELDS = {
  supplier: object({ name: STRING, vat_id: STRING, address: ADDRESS }),
  invoice_number: STRING,
  issue_date: DATE,
  due_date: DATE,
  currency: { type: 'string', pattern: '^[A-Z]{3}$' },
  lines: { type: 'array', items: LINE },
  net: AMOUNT,
  tax: object({ rate: { type: 'number', minimum: 0, maximum: 100 }, amount: AMOUNT }),
  total: AMOUNT,
}

const OFTEN_MISSING = ['due_date', 'currency']
const ALWAYS_REQUIRED = Object.keys(FIELDS).filter(field => !OFTEN_MISSING.includes(field))

export const EXTRACT_FIELDS: PromptHistory = {
  stepId: 'extract-fields',
  text: `
You read invoices for Larkfield's accounting department. You are given the text of all pages of one invoice, line by line, as
it was read from a scan. Invoices come in English, German and Spanish.

Fields
- supplier: who sends the invoice, with its VAT id and address. Larkfield itself is never the supplier.
- invoice_number: exactly as printed, with all prefixes, hyphens and slashes.
- issue_date and due_date: as YYYY-MM-DD. {dates}
- currency: the three-letter code.
- lines: each line of the table, in order. Lines continue after a page break; a line that only gives the page
  number is not a table row.
- net, tax (rate in percent, and amount) and total.

Numbers
- Give amounts as numbers with a decimal point: 1.234,50 in a German or Spanish invoice is 1234.5.
- Copy what is printed. {sums}
{missing}
{purchaseOrder}

Return one JSON object with these fields, and nothing else.
`,
  versions: [
    {
      since: '2026-08-20',
      note: 'First version',
      slots: {
        dates: '',
        sums: 'If the printed amounts do not add up, correct them.',
        missing: '- Leave out fields that you cannot find.',
        purchaseOrder: '',
      },
      outputSchema: object(FIELDS, ALWAYS_REQUIRED),
    },
    {
      since: '2026-10-22',
      note: 'Never correct amounts: validation must see what the supplier printed',
      slots: { sums: 'Never calculate or correct anything: another step checks the sums.' },
      outputSchema: object(FIELDS, ALWAYS_REQUIRED),
    },
    {
      since: '2026-11-06',
      note: 'Due date and currency are now required, because payments were late without them; explain date formats',
      slots: {
        dates: '03.11.2026 and 03/11/2026 both mean November 3.',
        missing: '- All fields are required. If the due date is not printed, use the issue date.',
      },
      outputSchema: object(FIELDS),
    },
    {
      note: 'Draft: also read our purchase order number, once suppliers print it',
      slots: { purchaseOrder: '- purchase_order: our order number (PO and eight digits), if it is printed.' },
      outputSchema: object(
        { ...FIELDS, purchase_order: { type: 'string', pattern: '^PO\\d{8}$' } },
        Object.keys(FIELDS),
      ),
    },
  ],
}
