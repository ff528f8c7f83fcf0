/** The words and number formats of each layout. */
export const LAYOUTS = {
  english: {
    title: 'INVOICE',
    vatId: 'VAT ID',
    number: 'Invoice no.',
    issued: 'Invoice date',
    due: 'Payment due by',
    billTo: 'Bill to',
    table: ['Pos', 'Description', 'Qty', 'Unit price', 'Amount'],
    net: 'Net total',
    tax: 'VAT',
    total: 'Total due',
    page: 'Page',
    thanks: 'Please include the invoice number with your payment.',
    decimal: '.',
    group: ',',
    date: (year: string, month: string, day: string) => `${year}-${month}-${day}`,
  },
  german: {
    title: 'RECHNUNG',
    vatId: 'USt-IdNr.',
    number: 'Rechnung Nr.',
    issued: 'Rechnungsdatum',
    due: 'Zahlbar bis',
    billTo: 'An',
    table: ['Pos', 'Bezeichnung', 'Menge', 'Einzelpreis', 'Betrag'],
    net: 'Summe netto',
    tax: 'MwSt.',
    total: 'Rechnungsbetrag',
    page: 'Seite',
    thanks: 'Bitte geben Sie bei der Zahlung die Rechnungsnummer an.',
    decimal: ',',
    group: '.',
    date: (year: string, month: string, day: string) => `${day}.${month}.${year}`,
  },
  spanish: {
    title: 'FACTURA',
    vatId: 'NIF-IVA',
    number: 'Factura n.º',
    issued: 'Fecha de emisión',
    due: 'Vencimiento',
    billTo: 'Cliente',
    table: ['Pos', 'Concepto', 'Cant.', 'Precio', 'Importe'],
    net: 'Base imponible',
    tax: 'IVA',
    total: 'Total factura',
    page: 'Página',
    thanks: 'Rogamos indiquen el número de factura en el pago.',
    decimal: ',',
    group: '.',
    date: (year: string, month: string, day: string) => `${day}/${month}/${year}`,
  },
} as const

/** The look of a supplier's invoices. */
export type Layout = keyof typeof LAYOUTS

export interface Supplier {
  name: string
  vatId: string
  street: string
  postalCode: string
  city: string
  country: string
  currency: string
  taxRate: number
  layout: Layout
  /** The prefix of its invoice numbers. */
  series: string
  /** Days until an invoice is due. */
  terms: number
  /** Its products: description, unit, unit price in cents. */
  catalog: readonly (readonly [description: string, unit: string, cents: number])[]
}

/** Parses suppliers: a line with the fields in the order above, then a line (`-`) for each product. */
const suppliers = (layout: Layout, lines: string): Supplier[] =>
  lines
    .trim()
    .split('\n\n')
    .map(block => {
      const [head = [], ...sold] = block.split('\n').map(line => line.replace(/^- /, '').split(' | '))
      const [name = '', vatId = '', street = '', postalCode = '', city = '', country = '', ...terms] = head
      const [currency = '', taxRate = '', series = '', days = ''] = terms
      return {
        ...{ name, vatId, street, postalCode, city, country, currency, layout, series },
        taxRate: Number(taxRate),
        terms: Number(days),
        catalog: sold.map(([description = '', unit = '', cents = '']) => [description, unit, Number(cents)] as const),
      }
    })

export const SUPPLIERS: readonly Supplier[] = [
  ...suppliers(
    'german',
    `
Nordkarton Verpackungen GmbH | DE284117309 | Am Speicher 8 | 28217 | Bremen | DE | EUR | 19 | RE-2026- | 14
- Faltkarton 300 x 200 x 150 mm | Stk | 48
- Faltkarton 600 x 400 x 300 mm | Stk | 139
- Packpapier, Rolle 250 m | Rolle | 2190
- Klebeband Papier 50 mm | Rolle | 315
- Versandtasche C4 gepolstert | Stk | 37

Druckhaus Elbblick GmbH | DE811902456 | Kaistrasse 40 | 20457 | Hamburg | DE | EUR | 19 | 2026 | 21
- Beileger A6, 100 Stück | Pack | 1250
- Aufkleber rund, 500 Stück | Rolle | 2890
- Dankeskarten, 250 Stück | Pack | 2475

Weberhof Kantine GmbH | DE305561874 | Hofgasse 2 | 21073 | Hamburg | DE | EUR | 7 | K- | 7
- Mittagessen Stammgericht | Port | 690
- Mittagessen vegetarisch | Port | 640
- Obstkorb Team | Stk | 2450
`,
  ),
  ...suppliers(
    'english',
    `
Ferrow Freight Ltd | IE3627451OH | 14 Quay Lane | T12 XY88 | Cork | IE | EUR | 23 | FF | 30
- Pallet transport Cork - Hamburg | pallet | 18450
- Pick-up outside hours | trip | 6500
- Fuel surcharge, per pallet | pallet | 1275
- Customs papers | set | 4200

Brightwell Office Supplies Ltd | GB291844670 | 7 Mill Street | LS9 8DA | Leeds | GB | GBP | 20 | BW- | 30
- Copy paper A4 80 g, box of 5 | box | 1849
- Label rolls 100 x 150 mm | roll | 922
- Toner black, high yield | piece | 8760
- Ballpoint pens blue, pack of 50 | pack | 1195
- Filing boxes, set of 10 | set | 2340
- Whiteboard markers, pack of 8 | pack | 765

Clarity Cleaning Services Ltd | IE9814420KA | 3 Harbour View | D02 KR26 | Dublin | IE | EUR | 23 | CCS- | 14
- Cleaning of offices, weekly | visit | 14500
- Window cleaning, outside | visit | 22000
- Consumables | set | 3675

Parts & Pieces Wholesale B.V. | NL857341906B01 | Havenweg 118 | 3089 JK | Rotterdam | NL | EUR | 21 | PPW26- | 30
- Seal ring for hand blender | piece | 86
- Switch for table fan | piece | 214
- Hinge for desk lamp | piece | 179
- USB-C socket, soldered | piece | 133
- Housing screw set | set | 58
- Lens for headlamp | piece | 97
- Motor 12 V for handheld vacuum | piece | 1285
- Charging contact for toothbrush | piece | 64
- Display module for smart scale | piece | 742
- Rubber foot, self-adhesive | piece | 12
`,
  ),
  ...suppliers(
    'spanish',
    `
Baterías Levante S.L. | ESB46719025 | Calle de la Industria 31 | 46015 | Valencia | ES | EUR | 21 | F26/ | 30
- Batería de litio 18650, 3400 mAh | ud | 612
- Batería de litio 21700, 5000 mAh | ud | 845
- Cargador USB-C 20 W | ud | 1130
- Transporte de mercancía peligrosa | envío | 9800

Textiles Roca S.A. | ESA08233417 | Carrer del Teixidor 12 | 08202 | Sabadell | ES | EUR | 21 | R-26- | 60
- Chaleco de trabajo, gris | ud | 1890
- Guantes de montaje, par | par | 245
- Polo con logotipo | ud | 1420
`,
  ),
]
