import type { TextVersion, VersionedText } from './versions.ts'

export const LANGUAGES = ['en', 'de', 'es'] as const
export type Language = (typeof LANGUAGES)[number]

/** Customers' questions about a paragraph, and the correct answer, with slots for the paragraph's facts. */
export interface Topic {
  doc: string
  language: Language
  /** The paragraph's heading, which a good query contains. */
  query: string
  asked: readonly string[]
  answer: string
}

/** A doc of the shop's handbook. Its slots are facts; its paragraphs are retrieved individually. */
export interface HandbookDoc extends VersionedText {
  slug: string
  title: string
  topics: readonly Topic[]
}

const FIRST = { since: '2026-06-01', note: 'First version' }

/** The changes to the handbook's docs since their first versions. */
const LATER_VERSIONS: Record<string, TextVersion[]> = {
  returns: [
    {
      since: '2026-11-05',
      note: 'From November 5: 30 days instead of 14 for all items',
      slots: { window: '30 days' },
    },
    {
      since: '2026-11-16',
      note: 'From November 16: a rule for gifts before the holiday season',
      slots: {
        gifts: '**Gifts.** Orders from November 16 to December 24 can be returned until January 31.',
      },
    },
  ],
  shipping: [
    {
      since: '2026-11-10',
      note: 'From November 10: the second warehouse makes standard delivery faster',
      slots: { standardTime: '2 to 4 business days', cutOff: '15:30' },
    },
  ],
  warranty: [
    {
      since: '2026-11-03',
      note: 'From November 3: claims are answered within 4 business days',
      slots: { claimTime: '4 business days' },
    },
  ],
  accounts: [
    {
      since: '2026-10-30',
      note: 'From October 30: links work for 60 minutes, because emails sometimes arrive late',
      slots: { resetTime: '60 minutes' },
    },
  ],
  privacy: [
    {
      since: '2026-11-12',
      note: 'From November 12: call recordings are kept for only 30 days, as the data protection officer requested',
      slots: { callTime: '30 days' },
    },
  ],
  loyalty: [
    { since: '2026-11-01', note: 'From November 1: points expire after 18 months', slots: { expiry: '18 months' } },
    {
      note: 'Draft for January: a birthday gift. Do not activate until the shop supports it',
      slots: { birthday: '**Birthday.** From January, members get 200 points on their birthday.' },
    },
  ],
  payments: [
    {
      since: '2026-11-09',
      note: 'From November 9: invoices are due after 21 days, so that returns can be settled first',
      slots: { invoiceDue: '21 days' },
    },
  ],
}

/**
 * The handbook. A doc starts with its slug and title; its paragraphs are separated by empty lines. Below a paragraph
 * are customers' questions about it (`?`) and the answer (`!`), in English or in the named language. `{window: 14
 * days}` is a fact with its value in the first version.
 */
const SOURCE = `
# returns: Returns and refunds

**Return window.** Items can be returned within {window: 14 days} of delivery, and no reason is needed. What counts is
the day you hand over the package, not the day we receive it.
? How long can I keep the {product} before I have to decide whether to return it?
? When is the last day to send back a {product} that I do not need?
? Is there a deadline for returning my {product}?
! You can return the {product} within {window} of delivery. What counts is the day you hand over the package.

**Return label.** Open the order, choose "Return items" and print the label, or show its code at a pickup point. The label
costs {labelCost: 3.50 EUR}, which we deduct from the refund. Returns of faulty items are free.
? Who pays for sending the {product} back?
? Is returning a {product} free of charge?
! The return label costs {labelCost}, which we deduct from the refund. If the {product} is faulty, the return is free.
?es ¿Cuánto cuesta devolver un artículo?
?es ¿La devolución es gratuita?
!es La etiqueta de devolución cuesta {labelCost}, que se descuenta del reembolso.

**Refund time.** Money goes back to the payment method of the order within {refundTime: 5 business days} after the package
has been checked. Orders paid with a gift card are refunded to that gift card.
? I sent back my {product} last week. When do I get my money?
? How long does a refund take once you have the package?
? My return has arrived, but I see no refund for the {product} yet. Is that normal?
! The money goes back to the payment method of your order within {refundTime} after we have checked the package.

**Opened items.** In-ear headphones and water filters cannot be returned {sealRule: once the seal is broken}. Items made
to order cannot be returned.
? Can I return in-ear headphones that I have tried once?
? Do you accept returns of opened water filters?
! I am sorry, in-ear headphones and water filters cannot be returned {sealRule}.

{gifts: }

# shipping: Shipping

**Standard delivery.** Standard delivery takes {standardTime: 3 to 5 business days}. It costs {standardCost: 4.90 EUR} and
is free for orders of {freeFrom: 60 EUR} or more.
? How many days does standard delivery take for a {product}, and what does it cost?
? I ordered a {product} today with standard delivery. When can I expect it?
? What do I pay for standard delivery, and how long does it take?
! Standard delivery takes {standardTime}. It costs {standardCost}; it is free for orders of {freeFrom} or more.

**Express delivery.** Express delivery takes {expressTime: 1 business day} and costs {expressCost: 7.90 EUR}. It is
only available for items in stock.
? I need the {product} quickly. What does express delivery cost?
? What is the price of express delivery?
! Express delivery costs {expressCost} and takes {expressTime}.
?de Was kostet der Expressversand?
?de Wie teuer ist es, wenn die Lieferung schneller kommen soll?
!de Der Expressversand kostet {expressCost}. Er gilt nur für Artikel, die auf Lager sind.
?es ¿Cuánto cuesta el envío urgente?
!es El envío urgente cuesta {expressCost}. Solo se ofrece para artículos en existencia.

**Same-day dispatch.** Orders placed before {cutOff: 14:00} leave the warehouse the same day, Monday to Friday.
? How late can I order for the {product} to ship today?
? Do you still ship orders today?
! Orders placed before {cutOff} leave the warehouse the same day, Monday to Friday.
?de Bis wann muss ich bestellen, damit das Paket noch heute rausgeht?
?de Geht meine Bestellung heute noch raus?
!de Bestellungen, die vor {cutOff} Uhr eingehen, verlassen das Lager von Montag bis Freitag am selben Tag.

**Missed package.** If nobody is at home, the carrier tries again on the next business day. After that, the package waits at
the nearest pickup point for {holdTime: 7 days} and is then sent back to us.
? I am away this week. How long will the pickup point keep my {product}?
? I missed the carrier twice. What happens to my package now?
! The package waits at the nearest pickup point for {holdTime} and is then sent back to us.

# warranty: Warranty

**Device and battery warranty.** Every new device is under warranty for {deviceTime: 24 months} from the day of delivery.
Rechargeable batteries are covered for {batteryTime: 12 months}.
? How long is the warranty on the {product}, and does it include the battery?
? My {product} stopped working after fifteen months. Does the warranty still apply?
? What warranty comes with a new {product}?
! New devices are under warranty for {deviceTime} from the day of delivery; their batteries are covered for {batteryTime}.

**Refurbished devices.** Devices that were sold as refurbished are under warranty for {refurbishedTime: 18 months}, batteries
included.
? Does a refurbished {product} have a warranty?
? I am thinking about a used {product} from your shop. Is it covered by a warranty?
! Yes. Devices sold as refurbished are under warranty for {refurbishedTime}, batteries included.

**Warranty exclusions.** The warranty covers faults in material and workmanship. It does not cover
{notCovered: water damage, broken screens, or normal wear}.
? I dropped my {product} into the sink. Will you replace it?
? What does the warranty on a {product} not cover?
! The warranty covers faults in material and workmanship, but not {notCovered}.

**Warranty claim.** Send us {proof: the invoice or the order number} and a photo or a short video of the fault. We answer
within {claimTime: 10 business days}.
? What do you need for a warranty claim on my {product}?
? I reported a fault in my {product}. How soon will I hear from you?
! Please send us {proof} and a photo or video of the fault. We answer within {claimTime}.

# accounts: Customer accounts

**Password link.** The link to set a new password works for {resetTime: 30 minutes} and can be used once. Please also
check the spam folder.
? My password link says that it has expired. How long does it work?
? How quickly do I have to use the password link?
? I clicked the reset link in the evening and it was no longer valid. Why?
! The link works once and expires after {resetTime}. Please request a new one.

**Locked account.** After {attempts: five failed sign-ins} in a row, an account is locked for {lockTime: 15 minutes}. It
then unlocks automatically.
? My account is locked. How do I get back in?
? I typed the wrong password too many times. What happens now?
! After {attempts} in a row, the account is locked for {lockTime}. Then it unlocks automatically.

**Two-step sign-in.** Turn it on under "Security". It works with {secondFactor: an authenticator app or a passkey}.
? Can I protect my account with more than a password?
? Do you support passkeys?
! Yes. Under "Security" you can turn on two-step sign-in with {secondFactor}.

**Closing an account.** An account is closed {closeTime: 7 days after the request}, so that the request can still be withdrawn.
Open orders are delivered first.
? How long does it take until my account is deleted?
? I want to close my account, but the {product} is still on its way. What happens then?
! Your account is closed {closeTime}, and open orders are delivered first.

# privacy: Privacy

**Copy of personal data.** We send a copy of all data about a customer within {exportTime: 20 days} of the request. It is
free of charge once a year. Questions about data protection go to {privacyMail: privacy@larkfield.example}.
? I would like to see all the data you have about me. How long does that take?
? Who do I ask for a copy of my data, and when will I get it?
! Please write to {privacyMail}. We send you a copy within {exportTime} of your request.
?es ¿A quién puedo escribir para preguntar por mis datos?
!es Puede escribir a {privacyMail}.

**Stored invoices.** By law, we keep invoices for {invoiceTime: 10 years}, even after an account has been closed.
? Why are my invoices still there after I closed my account?
? How long do you store my invoices?
! By law, we keep invoices for {invoiceTime}, even after an account has been closed.

**Call recordings.** Calls are recorded only if the caller agrees. Recordings are deleted after {callTime: 90 days}.
? I agreed to a recording of my call about the {product}. When is it deleted?
? How long do you keep recordings of calls?
! Recordings of calls are deleted after {callTime}.

**Newsletter.** The last line of every newsletter has a link to unsubscribe. It takes effect within
{unsubscribeTime: 48 hours}.
? I unsubscribed and still got a newsletter this morning. Why?
? How do I stop the newsletter?
! Use the link in the last line of any newsletter. It takes effect within {unsubscribeTime}.

# loyalty: Loyalty points

**Earning points.** Members earn {rate: 2 points} for each euro they spend, shipping not included. Points are
added {creditTime: 21 days} after delivery, when the order can no longer be canceled.
? How many points do I get for a {product}, and when?
? My points for the {product} are missing. When are they added?
! You earn {rate} for each euro you spend. They are added {creditTime} after delivery.

**Spending points.** {value: 100 points} are worth 1 EUR. They can be used for up to half of an order.
? What are my points worth?
? Can I pay for a {product} with points?
! {value} are worth 1 EUR, and you can use them for up to half of an order.

**Expiry of points.** Points expire {expiry: 24 months} after they are earned. A reminder is sent one month beforehand.
? Do my points expire?
? How long can I save up my points for a {product}?
? When do the points from last year expire?
! Points expire {expiry} after you earn them. You get a reminder one month beforehand.

**Gold members.** Members who earn {goldFrom: 1,500 points} in a calendar year become gold members and get
{goldBenefit: free express delivery}.
? How do I become a gold member?
? What do I get as a gold member?
! With {goldFrom} in a calendar year you become a gold member and get {goldBenefit}.

{birthday: }

# payments: Payments and gift cards

**Ways to pay.** We take {methods: credit and debit cards, bank transfer, and invoice}. The card is charged when the
package leaves the warehouse.
? How can I pay for the {product}?
? Can I pay by bank transfer?
! You can pay with {methods}.

**Due invoices.** Invoices are due {invoiceDue: 14 days} after delivery. After that, a reminder costs
{reminderFee: 2.50 EUR}.
? When do I have to pay the invoice for my {product}?
? How much time do I have to pay an invoice?
? My invoice has no date. When is it due?
! The invoice is due {invoiceDue} after delivery.

**Installments.** Orders of {installmentsFrom: 150 EUR} or more can be paid in {installments: 3, 6, or 12 monthly payments} without
interest. Smaller orders of 50 EUR or more can be paid 30 days later.
? Can I pay for the {product} in installments?
? What is the minimum order for installments?
! Orders of {installmentsFrom} or more can be paid in {installments} without interest.

**Gift cards.** Gift cards are valid for {giftCardTime: 3 years} and can be used for several orders. They cannot be exchanged for
cash.
? How long is a gift card valid?
? I found an old gift card in a drawer. Can I still use it for a {product}?
! Gift cards are valid for {giftCardTime} and can be used for several orders.

# repairs: Repairs and spare parts

**Price of a repair.** Outside the warranty, finding the fault costs {diagnosisCost: 25 EUR}. The amount is deducted if
the repair is ordered.
? What does it cost to have my {product} checked after the warranty ends?
? Is the check before a repair free?
! Finding the fault costs {diagnosisCost}. The amount is deducted if you order the repair.
?de Was kostet ein Kostenvoranschlag für eine Reparatur?
?de Muss ich für die Fehlersuche bezahlen?
!de Die Fehlersuche kostet {diagnosisCost}. Der Betrag wird angerechnet, wenn Sie die Reparatur bestellen.
?es ¿Cuánto cobran por revisar un aparato fuera de garantía?
!es La revisión cuesta {diagnosisCost}. El importe se descuenta si encarga la reparación.

**Repair time.** A repair takes {repairTime: 8 business days} from the day the device arrives.
? How long will the repair of my {product} take?
? When will my {product} be back from repair?
! A repair takes {repairTime} from the day the device arrives.

**Repair guarantee.** A repair is guaranteed for {repairGuarantee: 6 months}. The guarantee covers the part that was
repaired.
? My {product} was repaired in the summer and has the same fault again. Do I have to pay?
? Is there a guarantee on the repair of a {product}?
! Repairs are guaranteed for {repairGuarantee}. The guarantee covers the part that was repaired.

**Spare parts.** Spare parts are kept for {partsTime: 7 years} after a device was last sold.
? Do you still have spare parts for an older {product}?
! We keep spare parts for {partsTime} after a device was last sold.

# orders: Orders

**Canceling an order.** An order can be canceled in the account for {cancelTime: 60 minutes} after it is placed. After
that, please refuse the package or return it.
? I just ordered the wrong {product}. Can I cancel?
? How long do I have to cancel an order?
! You can cancel the order in your account within {cancelTime} of placing it.

**Change of address.** The address can be changed {addressRule: until the package has been packed}. A new address in
another country needs a new order.
? I have moved. Can my {product} go to the new address?
? Can I still change the address on my order?
! The address can be changed {addressRule}.

**Missing or broken items.** Please report missing or broken items within {reportTime: 5 days} of delivery, with a photo
of the package.
? The package came without the {product}. What should I do?
? My {product} arrived broken. How long do I have to report it?
! I am sorry about that. Please report it within {reportTime} of delivery, with a photo of the package.

**Larger orders.** For {bulkFrom: 20 pieces} or more of one item, request a quote at {bulkMail: business@larkfield.example}.
? We would like to give each of our forty employees a {product}. Is there a discount?
! For {bulkFrom} or more of one item, you can request a quote at {bulkMail}.
`

const FACT = /\{(\w+): ?([^}]*)\}/g
const EXCHANGE = /^(?<kind>[?!])(?<language>\w\w)? (?<text>.*)$/

function handbookDoc(source: string): HandbookDoc {
  const [heading = '', ...paragraphs] = source.replace(FACT, '{$1}').trim().split('\n\n')
  const [slug = '', title = ''] = heading.split(': ')
  const facts = Array.from(source.matchAll(FACT), ([, name = '', value = '']) => [name, value] as const)
  return {
    slug,
    title,
    text: paragraphs.map(textOf).join('\n\n'),
    versions: [{ ...FIRST, slots: Object.fromEntries(facts) }, ...(LATER_VERSIONS[slug] ?? [])],
    topics: paragraphs.flatMap(paragraph => topicsOf(slug, paragraph)),
  }
}

const textOf = (paragraph: string): string =>
  paragraph
    .split('\n')
    .filter(line => !EXCHANGE.test(line))
    .join(' ')

function topicsOf(doc: string, paragraph: string): Topic[] {
  const query = (/^\*\*(.*)\.\*\*/.exec(paragraph)?.[1] ?? '').toLowerCase()
  const exchanges = paragraph.split('\n').flatMap(line => {
    const groups = EXCHANGE.exec(line)?.groups
    return groups ? [groups] : []
  })
  const of = (kind: string, language: Language) =>
    exchanges.filter(each => each.kind === kind && (each.language ?? 'en') === language).map(({ text = '' }) => text)
  return LANGUAGES.flatMap(language => {
    const [answer] = of('!', language)
    return answer === undefined ? [] : [{ doc, language, query, asked: of('?', language), answer }]
  })
}

/** The project's knowledge docs. */
export const HANDBOOK: readonly HandbookDoc[] = SOURCE.split(/^# /m).slice(1).map(handbookDoc)

/** Devices in customers' questions. */
export const PRODUCTS = [
  ...[
    'handheld vacuum',
    'bike light',
    'desk lamp',
    'milk frother',
    'camping lantern',
    'smart scale',
    'portable speaker',
  ],
  ...['table fan', 'headlamp', 'hand blender', 'sonic toothbrush', 'power bank'],
]

/** Phrases that customers write before and after a question. */
export const AROUND: Record<Language, { before: readonly string[]; after: readonly string[] }> = {
  en: {
    before: ['', '', '', 'Hello. ', 'Hi, quick question: ', 'Good morning. '],
    after: ['', '', '', ' Thanks!', ' My order is {order}.', ' I could not find it on your site.'],
  },
  de: { before: ['', 'Guten Tag. '], after: ['', ' Danke!', ' Es geht um die Bestellung {order}.'] },
  es: { before: ['', 'Buenos días. '], after: ['', ' Gracias.', ' Mi pedido es el {order}.'] },
}
