import type { Language } from './support-handbook.ts'
import type { Flaw, Opinion } from './trace.ts'

/** Paragraphs of a doc, by the facts that stand in them; of an old version where one is named. */
export interface Passage {
  doc: string
  facts: readonly string[]
  version?: number
}

/** A run in which the pipeline, the customer or the reviewer was wrong. */
export interface SupportCase {
  flaw: Flaw
  language?: Language
  query: string
  question: string
  /** What a right answer rests on. */
  rightPassage: Passage
  /** What was retrieved instead. */
  retrieved?: Passage
  answer: string
  sources?: string[]
  /** Words of the answer (of the correction, where it is the reviewer who is wrong) that no evidence bears out. */
  wrong?: string
  /** The order that the customer names, though it is none of theirs. */
  orderNumber?: string
  opinion?: Opinion
}

/** One for each tenth run. Times matter: the outdated docs are used after their successors came. */
export const SUPPORT_CASES: readonly SupportCase[] = [
  {
    flaw: 'misread_number',
    query: 'battery warranty after 18 months',
    question: 'The battery of my head torch is dead after 18 months. Is it still covered?',
    rightPassage: { doc: 'warranty', facts: ['batteryTime'] },
    answer: 'Yes, it is: your head torch has a warranty of 24 months from the day of delivery.',
    wrong: '24 months',
    opinion: {
      rating: 'negative',
      comment: 'The chunk says it: rechargeable batteries are covered for 12 months only.',
      correction: { answer: 'I am sorry, rechargeable batteries are covered for 12 months.', sources: ['warranty'] },
      stepId: 'generate-answer',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'guarantee used speaker',
    question: 'I bought a refurbished portable speaker from you. How long am I covered if it breaks?',
    rightPassage: { doc: 'warranty', facts: ['refurbishedTime'] },
    retrieved: { doc: 'repairs', facts: ['repairGuarantee'] },
    answer: 'Your speaker is guaranteed for 6 months. The guarantee covers the part that was repaired.',
    wrong: '6 months',
    opinion: {
      rating: 'negative',
      comment: 'It found the guarantee of repairs. The customer asks about the warranty of refurbished devices.',
      correction: {
        answer: 'Refurbished devices have a warranty of 18 months, batteries included.',
        sources: ['warranty'],
      },
      stepId: 'retrieve',
    },
  },
  {
    flaw: 'invented_fact',
    query: 'gift wrapping price',
    question: 'Can you gift-wrap the desk lamp, and what does it cost?',
    rightPassage: { doc: 'orders', facts: [] },
    retrieved: { doc: 'orders', facts: ['bulkMail'] },
    answer: 'Yes, we gladly gift-wrap your order for 2.90 EUR. Choose the option in the last step of your order.',
    wrong: '2.90 EUR',
    opinion: {
      rating: 'negative',
      comment: 'We have no gift wrapping, and no doc says that we do. Where is this price from?',
    },
  },
  {
    flaw: 'incomplete_answer',
    query: 'return label cost and refund time',
    question: 'Two things: what does the return label cost, and when will I have the money back?',
    rightPassage: { doc: 'returns', facts: ['labelCost', 'refundTime'] },
    answer: 'The return label costs 3.50 EUR, which we take off the refund.',
    opinion: {
      rating: 0.4,
      comment: 'Half of the question is left open: nothing about the time of the refund.',
      correction: {
        answer:
          'The label costs 3.50 EUR, which we take off the refund. The money goes back to you within 5 working days after we have checked the parcel.',
        sources: ['returns'],
      },
      stepId: 'generate-answer',
    },
  },
  {
    flaw: 'ambiguous_input',
    query: 'how long change of mind',
    question: 'I changed my mind about the smart scale from this morning. How much time do I have?',
    rightPassage: { doc: 'orders', facts: ['cancelTime'] },
    answer: 'You can cancel the order in your account for 60 minutes after it was placed.',
    opinion: {
      rating: 'negative',
      comment: 'I read this as a question about returns. One could also ask back.',
      correction: { answer: 'You can return it within 14 days of delivery.', sources: ['returns'] },
    },
  },
  {
    flaw: 'wrong_order_number',
    query: 'parcel not delivered storage time',
    question: 'The carrier missed me twice. Where is my order LF-418263, and how long is it kept?',
    rightPassage: { doc: 'shipping', facts: ['holdTime'] },
    answer:
      'I find no order LF-418263 in your account. In general, a parcel waits at the nearest parcel shop for 7 days and is then sent back to us.',
    orderNumber: 'LF-418236',
    opinion: {
      rating: 'negative',
      comment: 'The order is there, it is LF-418236. The customer swapped the last two digits.',
      correction: { answer: 'Your order LF-418236 waits at the nearest parcel shop for 7 days.' },
    },
  },
  {
    flaw: 'mistaken_reviewer',
    query: 'refund time after return',
    question: 'You confirmed on Monday that my table fan came back. When will I see the refund?',
    rightPassage: { doc: 'returns', facts: ['refundTime'] },
    answer: 'The money goes back to your payment method within 5 working days after we have checked the parcel.',
    wrong: '10 working days',
    opinion: {
      rating: 'negative',
      comment: 'Refunds take 10 working days.',
      correction: { answer: 'The refund takes up to 10 working days.', sources: ['returns'] },
      stepId: 'generate-answer',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'order received late',
    question: 'Half of my order is missing from the parcel. How long do I have to report it?',
    rightPassage: { doc: 'orders', facts: ['reportTime'] },
    retrieved: { doc: 'shipping', facts: ['holdTime'] },
    answer: 'You have 7 days. After that the parcel is sent back to us.',
    sources: ['shipping'],
    wrong: '7 days',
  },
  {
    flaw: 'matter_of_taste',
    query: 'locked account',
    question: 'I am locked out after too many wrong passwords. What can I do?',
    rightPassage: { doc: 'accounts', facts: ['lockTime'] },
    answer: 'Your account is locked for 15 minutes. Then it opens again by itself.',
    opinion: {
      rating: 0.6,
      comment: 'Right, but I would begin with what the customer can do.',
      correction: {
        answer: 'Please try again in a while: an account is locked for 15 minutes and then opens by itself.',
      },
    },
  },
  {
    flaw: 'outdated_document',
    query: 'return window after delivery',
    question: 'My sonic toothbrush came three weeks ago, still in its box. Can I send it back?',
    rightPassage: { doc: 'returns', facts: ['window'] },
    retrieved: { doc: 'returns', facts: ['window'], version: 1 },
    answer: 'I am sorry, items can only be returned within 14 days of delivery.',
    wrong: '14 days',
    opinion: {
      rating: 'negative',
      comment: 'This is the rule from before 5 November. The index still holds the old text.',
      correction: { answer: 'Yes, items can be returned within 30 days of delivery.', sources: ['returns'] },
      stepId: 'retrieve',
    },
  },
  {
    flaw: 'wrong_language',
    language: 'de',
    query: 'invoice due date',
    question: 'Guten Tag, bis wann muss ich die Rechnung für meine Bestellung bezahlen?',
    rightPassage: { doc: 'payments', facts: ['invoiceDue'] },
    answer: 'Your invoice is due 21 days after the delivery of your order.',
    wrong: 'Your invoice is due',
    opinion: {
      rating: 0.3,
      comment: 'The customer wrote in German.',
      correction: { answer: 'Die Rechnung ist 21 Tage nach der Lieferung fällig.' },
      stepId: 'generate-answer',
    },
  },
  {
    flaw: 'unsupported_question',
    query: 'deduct purchase from income tax',
    question: 'I use the desk lamp for work at home. Which part of the price can I deduct from my income tax?',
    rightPassage: { doc: 'payments', facts: [] },
    answer: 'I am sorry, I can only answer questions about our shop. A tax adviser can help you with this one.',
    sources: [],
    opinion: { rating: 'negative', comment: 'The customer is not helped by this. Is there nothing that we can say?' },
  },
  {
    flaw: 'outdated_document',
    query: 'standard delivery time',
    question: 'I have just ordered a power bank, standard delivery. Will it be here within four working days?',
    rightPassage: { doc: 'shipping', facts: ['standardTime'] },
    retrieved: { doc: 'shipping', facts: ['standardTime'], version: 1 },
    answer: 'I cannot promise it: standard delivery takes 3 to 5 working days.',
    wrong: '3 to 5 working days',
  },
  {
    flaw: 'mistaken_reviewer',
    query: 'points expiry',
    question: 'Until when can I use the points that I collect this month?',
    rightPassage: { doc: 'loyalty', facts: ['expiry'] },
    answer: 'Points expire 18 months after they were collected. You get a reminder a month before.',
    wrong: '24 months',
    opinion: {
      rating: 'negative',
      comment: 'No, points are valid for two years.',
      correction: { answer: 'Points expire 24 months after they were collected.', sources: ['loyalty'] },
    },
  },
  {
    flaw: 'misread_number',
    query: 'instalments minimum order',
    question: 'Can I pay in instalments if my order comes to 60 EUR?',
    rightPassage: { doc: 'payments', facts: ['instalmentsFrom'] },
    answer: 'Yes, orders from 50 EUR can be paid in 3, 6 or 12 monthly parts without interest.',
    wrong: 'orders from 50 EUR',
  },
]
