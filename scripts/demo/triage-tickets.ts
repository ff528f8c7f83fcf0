import { LANGUAGES, type Language } from './support-handbook.ts'
import type { Flaw, Objection, Opinion } from './trace.ts'

export const CATEGORIES = ['billing', 'delivery', 'returns', 'technical', 'account', 'other'] as const
export type Category = (typeof CATEGORIES)[number]

export const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
export type Priority = (typeof PRIORITIES)[number]

/** A ticket as customers write it. Its category follows from its words. */
export interface Ticket {
  category: Category
  language: Language
  subject: string
  text: string
}

/** Tickets, one per line: the subject, a colon, and the body. */
const TICKET_LINES: Record<Category, Partial<Record<Language, string>>> = {
  billing: {
    en: `
Charged twice: My card was charged twice for order {order}: two charges of {amount} EUR on the same day.
Invoice address: Please issue the invoice for {order} to my company. I need it for our accounts.
Gift card not accepted: At checkout, my gift card for {amount} EUR was declined, so I paid by card instead.
Wrong amount: The invoice for {order} says {amount} EUR, but the shop showed a lower price for the {product}.
Reminder: I got a payment reminder for {order}, although I paid {amount} EUR by bank transfer on Monday.
Installments: My second installment for the {product} was taken twice this month. Please check the payment plan.`,
    de: `
Doppelt abgebucht: Für die Bestellung {order} wurden zweimal {amount} EUR abgebucht.
Rechnung fehlt: Zu meiner Bestellung {order} habe ich keine Rechnung bekommen. Ich brauche sie für die Steuer.`,
  },
  delivery: {
    en: `
Where is my package?: The tracking for {order} has not moved for {days} days. Where is my package?
Delivered to a neighbor: The carrier says that {order} was handed to a neighbor. Nobody here has the package.
Wrong address: I moved last week. Can the courier bring the {product} from {order} to my new address?
Empty box: The package for {order} arrived open, and the {product} was missing.
Still not shipped: The {product} has been in stock all week, yet {order} has not been shipped. When will it leave?
Pickup point closed: My pickup point is closed for the holidays, and the package with the {product} is inside.`,
    de: `
Paket fehlt: Laut Sendungsverfolgung wurde {order} gestern zugestellt, bei mir ist aber kein Paket angekommen.`,
  },
  returns: {
    en: `
Send it back: I would like to return the {product} from {order}. It is unused. How do I get a label?
Return not registered: I dropped off my return of {order} {days} days ago. The status still says "waiting".
Exchange: Could I exchange the {product} from {order} for the gray one?
Label does not print: The return label for {order} comes out blank. Could you send it as a PDF?
Changed my mind: I ordered two of the {product} and need only one. I would like to send the other one back.`,
    es: `
Devolución: Quiero devolver el artículo del pedido {order}. Está sin usar y en su caja.`,
  },
  technical: {
    en: `
Does not switch on: My {product} no longer switches on, even with the charger connected.
App loses connection: The app loses the connection to my {product} after a few minutes. I already reinstalled it.
Strange noise: Since yesterday the {product} makes a grinding noise when it runs. It is {days} weeks old.
Update failed: The firmware update for the {product} stops at 80 percent and starts over.
Battery drains: The battery in the {product} dies after {days} minutes. It used to last for hours.
Error E4: The {product} shows error E4 and blinks three times. The manual does not mention it.`,
    de: `
Gerät geht nicht an: Mein Gerät aus {order} lässt sich nicht mehr einschalten, auch nicht am Ladekabel.`,
  },
  account: {
    en: `
Cannot sign in: I cannot sign in. The password email never arrives, and I checked my spam folder.
New email: Please change my sign-in from my work email to my personal one. I no longer have the old mailbox.
Delete my data: I would like to close my account and have my personal data deleted.
Locked: My account is locked. It has been since this morning, and I do not know why.
Two-step codes: I have a new phone, and the sign-in asks for codes that only the old one could generate.`,
    es: `
No puedo entrar: No puedo iniciar sesión y el correo para cambiar la contraseña no llega.`,
  },
  other: {
    en: `
Thank you: I just want to say thank you to your colleague who helped me on the phone on Tuesday.
Suggestion: A suggestion: please offer the {product} without plastic packaging.
Press: I write about household appliances for a local newspaper. Who can I ask for an interview?
Job: Do you offer summer jobs for students in the warehouse?`,
  },
}

export const TICKETS: readonly Ticket[] = CATEGORIES.flatMap(category =>
  LANGUAGES.flatMap(language =>
    Array.from(
      (TICKET_LINES[category][language] ?? '').matchAll(/^([^:\n]+): (.+)$/gm),
      ([, subject = '', text = '']) => ({ category, language, subject, text }),
    ),
  ),
)

/** Phrases that change a ticket's priority. If a ticket has none, its priority is normal. */
export const PRESSING: Record<Language, Record<Priority, readonly string[]>> = {
  en: {
    low: ['There is no hurry.', 'This can wait until you have time.'],
    normal: ['', '', 'Thank you.', 'Kind regards', 'I look forward to your reply.'],
    high: ["This is the second time I've written.", 'I need an answer by tomorrow, please.'],
    urgent: ['The plug got hot and smelled of smoke.', 'I got an electric shock when I touched it.'],
  },
  de: {
    low: ['Es eilt nicht.'],
    normal: ['', 'Vielen Dank.'],
    high: ['Ich schreibe nun zum zweiten Mal.'],
    urgent: ['Der Stecker wurde heiß und roch nach Rauch.'],
  },
  es: {
    low: ['No hay prisa.'],
    normal: ['', 'Muchas gracias.'],
    high: ['Es la segunda vez que escribo.'],
    urgent: ['El enchufe se calentó y olía a humo.'],
  },
}

/** The classifier's output for a ticket. `priority` is absent if the output broke its schema. */
export interface Label {
  category: Category
  priority?: Priority
  language: Language
}

/** A ticket with a wrong label or wrong content, or a ticket that a reviewer misjudges. */
export interface TriageCase extends Pick<Ticket, 'subject' | 'text'> {
  flaw: Flaw
  /** The classifier's output. */
  label: Label
  /** The correct output, if it's known. */
  right: Required<Label>
  /** The team that got the ticket, if that doesn't follow from the label. */
  team?: string
  opinion?: Opinion
  /** The mistake, in a reviewer's words. */
  why?: string
  /** If nothing is wrong: the reason given by a reviewer who wrongly makes the correction in `opinion`. */
  objection?: Objection
}

export const TRIAGE_CASES: readonly TriageCase[] = [
  {
    flaw: 'wrong_label',
    subject: 'Refund',
    text: 'I want to return the headlamp from LF-552901. Please do not charge me for the label, it was faulty.',
    label: { category: 'billing', priority: 'normal', language: 'en' },
    right: { category: 'returns', priority: 'normal', language: 'en' },
    opinion: {
      rating: 'negative',
      comment: 'The customer wants to send something back. The label is only mentioned in passing.',
      correction: { category: 'returns' },
      stepId: 'classify',
    },
    why: '“Do not charge me” is said in passing. She wants to return the headlamp.',
  },
  {
    flaw: 'wrong_label',
    subject: 'Blender',
    text: 'I ordered the hand blender in red and got a black one that works. May I exchange it?',
    label: { category: 'technical', priority: 'normal', language: 'en' },
    right: { category: 'returns', priority: 'normal', language: 'en' },
    why: 'The blender works but is the wrong color. An exchange goes to returns.',
  },
  {
    flaw: 'wrong_label',
    subject: 'Power bank',
    text: 'The battery in my power bank swelled while charging. The plug got hot and smelled of smoke.',
    label: { category: 'technical', priority: 'normal', language: 'en' },
    right: { category: 'technical', priority: 'urgent', language: 'en' },
    opinion: {
      rating: 0,
      comment: 'Heat and smoke are always urgent.',
      correction: { category: 'technical', priority: 'urgent' },
      stepId: 'classify',
    },
    why: "There's smoke from a plug. The prompt says that's urgent, whatever else the ticket says.",
  },
  {
    flaw: 'wrong_label',
    subject: 'Gift card again',
    text: "The code on my gift card for 50 EUR is rejected. This is the second time I've written.",
    label: { category: 'billing', priority: 'low', language: 'en' },
    right: { category: 'billing', priority: 'high', language: 'en' },
    why: "The customer is writing for the second time. That's high by definition, and nothing says that it can wait.",
  },
  {
    flaw: 'ambiguous_input',
    subject: 'Broken desk lamp',
    text: 'The desk lamp from LF-310447 flickers. Repair it or take it back, I do not mind which.',
    label: { category: 'technical', priority: 'normal', language: 'en' },
    right: { category: 'technical', priority: 'normal', language: 'en' },
    opinion: {
      rating: 'negative',
      comment: 'I would treat this as a return, but it could go either way.',
      correction: { category: 'returns' },
    },
    objection: {
      why: '“Repair it or take it back”: I would take it back, so this is returns.',
      overruled:
        "He's fine with either, and he's writing about a lamp that flickers. Technical is a fair reading, so I'm leaving it.",
    },
  },
  {
    flaw: 'wrong_label',
    subject: 'Account charged',
    text: 'My bank account was charged although I returned nothing and ordered nothing. Whose invoice is this?',
    label: { category: 'account', priority: 'normal', language: 'en' },
    right: { category: 'billing', priority: 'normal', language: 'en' },
    why: 'It was misled by the word account. A charge to a bank account is billing.',
  },
  {
    flaw: 'missing_field',
    subject: 'Tracking',
    text: 'The tracking for LF-774120 says "handed over", but the package never came. There is no hurry.',
    label: { category: 'delivery', language: 'en' },
    right: { category: 'delivery', priority: 'low', language: 'en' },
    why: 'The priority is missing entirely. “There is no hurry” makes it low.',
  },
  {
    flaw: 'wrong_label',
    subject: 'Neighbor',
    text: 'Nobody in my house knows the neighbor to whom the courier gave the package. Thank you.',
    label: { category: 'other', priority: 'normal', language: 'en' },
    right: { category: 'delivery', priority: 'normal', language: 'en' },
    why: 'Despite the “Thank you”, this is neither praise nor a suggestion: a package is missing.',
  },
  {
    flaw: 'mistaken_reviewer',
    subject: 'Sign-in',
    text: 'I cannot sign in on my new phone. The code goes to the old number. Kind regards',
    label: { category: 'account', priority: 'normal', language: 'en' },
    right: { category: 'account', priority: 'normal', language: 'en' },
    opinion: {
      rating: 'negative',
      comment: 'Phones are devices, so this is technical.',
      correction: { category: 'technical' },
      stepId: 'classify',
    },
    objection: {
      why: 'A new phone, so this is about a device.',
      overruled: "It's about signing in. By definition, technical is about our own devices not working.",
    },
  },
  {
    flaw: 'wrong_team',
    subject: 'Hand vacuum',
    text: 'My handheld vacuum does not switch on, and the plug got hot and smelled of smoke.',
    label: { category: 'technical', priority: 'urgent', language: 'en' },
    right: { category: 'technical', priority: 'urgent', language: 'en' },
    team: 'workshop',
    why: "Urgent tickets have gone to the on-call desk since November 6. In the workshop's queue, this waits for hours.",
  },
  {
    flaw: 'contradictory_input',
    subject: 'Return of LF-129988',
    text: 'My package LF-129988 has not arrived yet. As I wrote, it works well, but I have sent it back today.',
    label: { category: 'returns', priority: 'normal', language: 'en' },
    right: { category: 'delivery', priority: 'normal', language: 'en' },
    opinion: {
      rating: 'negative',
      comment: "“Not arrived”, “works well”, and “sent back” can't all be true. We have to ask the customer.",
      correction: { category: 'delivery' },
    },
    why: "Those three things can't all be true. We can act on “has not arrived”, so this is delivery, and we have to ask the customer.",
  },
  {
    flaw: 'wrong_label',
    subject: 'Orders that are not mine',
    text: 'Since this morning, somebody else has been ordering with my account. I cannot sign in to stop it.',
    label: { category: 'account', priority: 'high', language: 'en' },
    right: { category: 'account', priority: 'urgent', language: 'en' },
    why: 'An account used by somebody else is urgent as of version 3, which was written for tickets like this one.',
  },
  {
    flaw: 'wrong_label',
    subject: 'No funciona',
    text: 'La batería de mi linterna ya no carga. Es la segunda vez que escribo.',
    label: { category: 'technical', priority: 'high', language: 'en' },
    right: { category: 'technical', priority: 'high', language: 'es' },
    opinion: {
      rating: 0.5,
      comment: 'The ticket is in Spanish and was answered in English.',
      correction: { language: 'es' },
      stepId: 'classify',
    },
    why: 'The text is Spanish, but the code says en. Everything else is correct.',
  },
  {
    flaw: 'wrong_label',
    subject: 'Speaker',
    text: 'I do not want to send the portable speaker back, I like it. But the app loses it every few minutes. Can you help?',
    label: { category: 'returns', priority: 'normal', language: 'en' },
    right: { category: 'technical', priority: 'normal', language: 'en' },
    why: 'The customer does not want to send it back. The app is the problem.',
  },
  {
    flaw: 'wrong_label',
    subject: 'LF-660215',
    text: 'The invoice for LF-660215 lists delivery twice, 4.90 EUR each. I look forward to your reply.',
    label: { category: 'delivery', priority: 'normal', language: 'en' },
    right: { category: 'billing', priority: 'normal', language: 'en' },
    why: "An invoice that lists something twice is billing, even if it's a delivery.",
  },
  {
    flaw: 'wrong_label',
    subject: 'Moved',
    text: 'I have moved. Please change the address in my account, there is no order on its way. This can wait until you have time.',
    label: { category: 'delivery', priority: 'low', language: 'en' },
    right: { category: 'account', priority: 'low', language: 'en' },
    why: "Nothing is on its way, so there's nothing to deliver. Changes to personal data belong under “account”.",
  },
]
