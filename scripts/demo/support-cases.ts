import type { Language } from './support-handbook.ts'
import type { Flaw, Objection, Opinion } from './trace.ts'

/** Paragraphs of a doc, identified by their facts. `version` selects an old version. */
export interface Passage {
  doc: string
  facts: readonly string[]
  version?: number
}

/** A run in which the pipeline, the customer, or the reviewer was wrong. */
export interface SupportCase {
  flaw: Flaw
  language?: Language
  query: string
  question: string
  /** The paragraphs that support the correct answer. */
  rightPassage: Passage
  /** The retrieved paragraphs, if they differ from `rightPassage`. */
  retrieved?: Passage
  answer: string
  sources?: string[]
  /** Words that no doc supports, in the answer or, if the reviewer is wrong, in the correction. */
  wrong?: string
  /** The customer's actual order number, if the one in the question is wrong. */
  orderNumber?: string
  opinion?: Opinion
  /**
   * If the pipeline is wrong: the correct answer, the correct query if a wrong query was the cause, and a reviewer's
   * reason.
   */
  mistake?: { answer: string; query?: string; why: string }
  /** If the pipeline is right: the reason given by a reviewer who wrongly makes the correction in `opinion`. */
  objection?: Objection
}

/**
 * The flawed cases, oldest first. The order matters, because a case with an outdated doc must come after the newer
 * version was published.
 */
export const SUPPORT_CASES: readonly SupportCase[] = [
  {
    flaw: 'misread_number',
    query: 'battery warranty after 18 months',
    question: 'The battery in my headlamp is dead after 18 months. Is it still covered?',
    rightPassage: { doc: 'warranty', facts: ['batteryTime'] },
    answer: 'Yes, it is: your headlamp is under warranty for 24 months from the day of delivery.',
    wrong: '24 months',
    opinion: {
      rating: 'negative',
      comment: 'The chunk says rechargeable batteries are covered for only 12 months.',
      correction: {
        answer: 'I am sorry, but rechargeable batteries are covered for 12 months.',
        sources: ['warranty'],
      },
      stepId: 'generate-answer',
    },
    mistake: {
      answer: 'I am sorry, not after 18 months: rechargeable batteries are covered for 12 months.',
      why: '24 months is for the device. The same chunk says 12 months for rechargeable batteries, and the question is about a battery.',
    },
  },
  {
    flaw: 'misread_number',
    query: 'locked account duration',
    question: 'For how many minutes is an account locked after too many wrong passwords?',
    rightPassage: { doc: 'accounts', facts: ['lockTime'] },
    answer: 'Your account is locked for 5 minutes. Then it unlocks automatically.',
    wrong: 'for 5 minutes',
    mistake: {
      answer: 'Your account is locked for 15 minutes. Then it unlocks automatically.',
      why: 'Five is the number of failed sign-ins. The lock itself lasts 15 minutes.',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'refurbished speaker guarantee',
    question: 'I bought a refurbished portable speaker from you. How long am I covered if it breaks?',
    rightPassage: { doc: 'warranty', facts: ['refurbishedTime'] },
    retrieved: { doc: 'repairs', facts: ['repairGuarantee'] },
    answer: 'Your speaker is guaranteed for 6 months. The guarantee covers the part that was repaired.',
    wrong: '6 months',
    opinion: {
      rating: 'negative',
      comment: 'It found the repair guarantee. The customer is asking about the warranty on refurbished devices.',
      correction: {
        answer: 'Refurbished devices are under warranty for 18 months, batteries included.',
        sources: ['warranty'],
      },
      stepId: 'retrieve',
    },
    mistake: {
      answer: 'Refurbished devices are under warranty for 18 months, batteries included.',
      why: 'The question was about the warranty on a refurbished speaker, but it found the repair guarantee. The doc has a paragraph on refurbished devices.',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'gift card validity',
    question: 'I found a gift card from 2024. Can I still pay with it?',
    rightPassage: { doc: 'payments', facts: ['giftCardTime'] },
    retrieved: { doc: 'loyalty', facts: ['expiry'] },
    answer: 'I am sorry, they expire 24 months after you earn them.',
    wrong: '24 months',
    mistake: {
      answer: 'Yes: gift cards are valid for 3 years.',
      why: "That's when points expire. Gift cards are different: the payments doc says 3 years.",
    },
  },
  {
    flaw: 'invented_fact',
    query: 'gift wrapping price',
    question: 'Can you gift-wrap the desk lamp, and what does it cost?',
    rightPassage: { doc: 'orders', facts: [] },
    retrieved: { doc: 'orders', facts: ['bulkMail'] },
    answer: 'Yes, we can gift-wrap your order for 2.90 EUR. Choose the option in the last step of your order.',
    wrong: '2.90 EUR',
    opinion: {
      rating: 'negative',
      comment: "We don't offer gift wrapping, and no doc says we do. Where did this price come from?",
    },
    mistake: {
      answer: 'I am sorry, we do not offer gift wrapping.',
      why: 'No doc mentions gift wrapping, let alone 2.90 EUR. The chunks are about large orders.',
    },
  },
  {
    flaw: 'wrong_language',
    language: 'es',
    query: 'repair duration',
    question: 'Hola, ¿cuánto tarda la reparación de una batidora?',
    rightPassage: { doc: 'repairs', facts: ['repairTime'] },
    answer: 'A repair takes 8 business days from the day the device arrives.',
    wrong: 'A repair takes',
    mistake: {
      answer: 'La reparación tarda 8 días laborables desde el día en que llega el aparato.',
      why: 'The question was in Spanish, but the answer is in English, a day after the new prompt ruled that out.',
    },
  },
  {
    flaw: 'incomplete_answer',
    query: 'return label cost and refund time',
    question: 'Two things: what does the return label cost, and when will I get my money back?',
    rightPassage: { doc: 'returns', facts: ['labelCost', 'refundTime'] },
    answer: 'The return label costs 3.50 EUR, which we take off the refund.',
    opinion: {
      rating: 0.4,
      comment: 'This only answers half the question. It says nothing about when the refund arrives.',
      correction: {
        answer:
          'The label costs 3.50 EUR, which we take off the refund. The money goes back to you within 5 business days of our checking the package.',
        sources: ['returns'],
      },
      stepId: 'generate-answer',
    },
    mistake: {
      answer:
        'The label costs 3.50 EUR, which we take off the refund. The money goes back to you within 5 business days of our checking the package.',
      why: 'She asks two things. The answer covers the label but not the refund time, even though both paragraphs were found.',
    },
  },
  {
    flaw: 'invented_fact',
    query: 'shop to visit',
    question: 'Is there a shop where I can see the milk frother before I buy it?',
    rightPassage: { doc: 'orders', facts: [] },
    retrieved: { doc: 'orders', facts: ['bulkMail'] },
    answer: 'Yes, you can try it in our shop in Hamburg-Altona, Monday to Saturday.',
    wrong: 'Hamburg-Altona',
    mistake: {
      answer: 'I am sorry, we are an online shop and do not have a store you can visit.',
      why: "There is no shop in Altona. The handbook doesn't mention any shops, and the customer might have gone there.",
    },
  },
  {
    flaw: 'ambiguous_input',
    query: 'how long change of mind',
    question: 'I changed my mind about the smart scale from this morning. How much time do I have?',
    rightPassage: { doc: 'orders', facts: ['cancelTime'] },
    answer: 'You can cancel the order in your account within 60 minutes of placing it.',
    opinion: {
      rating: 'negative',
      comment: 'I read this as a question about returns. We could also ask the customer.',
      correction: { answer: 'You can return it within 14 days of delivery.', sources: ['returns'] },
    },
    objection: {
      why: 'The scale was only ordered this morning, but the time to change your mind is what we call the return window, so I answered that.',
    },
  },
  {
    flaw: 'incomplete_answer',
    query: 'collecting points',
    question: 'How many points will I get for the table fan, and when will I see them in my account?',
    rightPassage: { doc: 'loyalty', facts: ['rate', 'creditTime'] },
    answer: 'You earn 2 points for each euro you spend, shipping not included.',
    mistake: {
      answer: 'You earn 2 points for each euro you spend. They are added 21 days after delivery.',
      why: "The “when” wasn't answered. It's in the very next sentence of the chunk: 21 days after delivery.",
    },
  },
  {
    flaw: 'wrong_order_number',
    query: 'package not delivered storage time',
    question: 'The carrier missed me twice. Where is my order LF-418263, and how long will it be kept?',
    rightPassage: { doc: 'shipping', facts: ['holdTime'] },
    answer:
      'I cannot find order LF-418263 in your account. In general, a package waits at the nearest pickup point for 7 days and is then sent back to us.',
    orderNumber: 'LF-418236',
    opinion: {
      rating: 'negative',
      comment: "The order exists: it's LF-418236. The customer swapped the last two digits.",
      correction: { answer: 'Your order LF-418236 waits at the nearest pickup point for 7 days.' },
    },
    mistake: {
      answer: 'Your order LF-418236 waits at the nearest pickup point for 7 days and is then sent back to us.',
      why: "The customer swapped two digits: the latest order is LF-418236, and that's the package being held.",
    },
  },
  {
    flaw: 'wrong_conclusion',
    query: 'report broken item',
    question: 'The desk lamp arrived broken the day before yesterday. Is it too late to report that?',
    rightPassage: { doc: 'orders', facts: ['reportTime'] },
    answer: 'I am sorry, it is: broken items must be reported within 5 days of delivery.',
    wrong: 'it is:',
    mistake: {
      answer: 'No, there is still time: please report it within 5 days of delivery, with a photo of the package.',
      why: 'Two days is less than five. It quotes the rule correctly and then draws the opposite conclusion.',
    },
  },
  {
    flaw: 'mistaken_reviewer',
    query: 'refund time after return',
    question: 'You confirmed on Monday that my table fan came back. When will I see the refund?',
    rightPassage: { doc: 'returns', facts: ['refundTime'] },
    answer: 'The money goes back to your payment method within 5 business days of our checking the package.',
    wrong: '10 business days',
    opinion: {
      rating: 'negative',
      comment: 'Refunds take 10 business days.',
      correction: { answer: 'The refund takes up to 10 business days.', sources: ['returns'] },
      stepId: 'generate-answer',
    },
    objection: {
      why: 'Our refunds take 10 business days.',
      overruled: 'The returns doc has said 5 business days since its first version. The answer was correct.',
    },
  },
  {
    flaw: 'lost_question',
    query: 'repair guarantee',
    question: 'How long is a repair guaranteed, and do you still have spare parts for older bike lights?',
    rightPassage: { doc: 'repairs', facts: ['repairGuarantee', 'partsTime'] },
    retrieved: { doc: 'repairs', facts: ['repairGuarantee'] },
    answer: 'Repairs are guaranteed for 6 months.',
    mistake: {
      answer: 'Repairs are guaranteed for 6 months. We keep spare parts for 7 years after a device was last sold.',
      query: 'repair guarantee spare parts',
      why: 'Spare parts are missing from the query. Since November 4, the prompt has asked for the keywords of all questions.',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'missing items report deadline',
    question: 'Half of my order is missing from the package. How long do I have to report it?',
    rightPassage: { doc: 'orders', facts: ['reportTime'] },
    retrieved: { doc: 'shipping', facts: ['holdTime'] },
    answer: 'You have 7 days. After that the package is sent back to us.',
    sources: ['shipping'],
    wrong: '7 days',
    mistake: {
      answer: 'I am sorry about that. Please report it within 5 days of delivery, with a photo of the package.',
      why: "How long a pickup point keeps a package doesn't matter here: he has the package, but half of it is missing. The doc about orders covers that.",
    },
  },
  {
    flaw: 'outdated_document',
    query: 'points expiry',
    question: 'I earned points with an order in the spring. When do they expire?',
    rightPassage: { doc: 'loyalty', facts: ['expiry'] },
    retrieved: { doc: 'loyalty', facts: ['expiry'], version: 1 },
    answer: 'Points expire 24 months after you earn them.',
    wrong: '24 months',
    mistake: {
      answer: 'Points expire 18 months after you earn them. You get a reminder one month beforehand.',
      why: 'The chunk is from the first version of the loyalty doc. The limit has been 18 months since November 1.',
    },
  },
  {
    flaw: 'matter_of_taste',
    query: 'locked account',
    question: 'I am locked out after too many wrong passwords. What can I do?',
    rightPassage: { doc: 'accounts', facts: ['lockTime'] },
    answer: 'Your account is locked for 15 minutes. Then it unlocks automatically.',
    opinion: {
      rating: 0.6,
      comment: 'Correct, but I would start with what the customer can do.',
      correction: {
        answer: 'Please try again later: an account is locked for 15 minutes and then unlocks automatically.',
      },
    },
    objection: { why: "There's nothing wrong with it. I just put what the customer can do first." },
  },
  {
    flaw: 'invented_fact',
    query: 'student discount',
    question: 'I am a student. Do I get a discount on the power bank?',
    rightPassage: { doc: 'loyalty', facts: [] },
    retrieved: { doc: 'loyalty', facts: ['goldFrom'] },
    answer: 'Yes, students get 10% off. Please upload your student ID in your account.',
    wrong: '10%',
    mistake: {
      answer: 'I cannot find a student discount in our rules. A colleague will get back to you.',
      why: "We don't have a student discount. The chunks don't mention one, so the answer must refer this to a colleague and cite no source.",
    },
  },
  {
    flaw: 'incomplete_answer',
    query: 'gold member',
    question: 'How do I become a gold member, and what do I get for it?',
    rightPassage: { doc: 'loyalty', facts: ['goldFrom', 'goldBenefit'] },
    answer: 'You become a gold member with 1,500 points in a calendar year.',
    mistake: {
      answer: 'With 1,500 points in a calendar year you become a gold member and get free express delivery.',
      why: 'It says how to become one, but not what you get. Free express delivery is in the same paragraph.',
    },
  },
  {
    flaw: 'wrong_task',
    query: 'change address of order',
    question:
      'I do not want to cancel anything, I just want to change the address on my order. How long can I do that?',
    rightPassage: { doc: 'orders', facts: ['addressRule'] },
    answer: 'You can cancel the order in your account within 60 minutes of placing it.',
    wrong: 'cancel the order',
    mistake: {
      answer: 'The address can be changed until the package has been packed.',
      why: 'The customer says “I do not want to cancel anything”, but the answer explains how to cancel. The question was about the address.',
    },
  },
  {
    flaw: 'misread_number',
    query: 'installments minimum order',
    question: 'Can I pay in installments if my order is 60 EUR?',
    rightPassage: { doc: 'payments', facts: ['installmentsFrom'] },
    answer: 'Yes, orders of 50 EUR or more can be paid in 3, 6, or 12 monthly payments without interest.',
    wrong: 'orders of 50 EUR or more',
    mistake: {
      answer:
        'I am sorry, installments are offered for orders of 150 EUR or more. You can pay for an order of 60 EUR 30 days later.',
      why: "50 EUR is the minimum for paying later. Installments start at 150 EUR, so 60 EUR isn't enough.",
    },
  },
  {
    flaw: 'wrong_document',
    query: 'spare parts availability years',
    question: 'For how many years will I be able to get spare parts for the handheld vacuum?',
    rightPassage: { doc: 'repairs', facts: ['partsTime'] },
    retrieved: { doc: 'privacy', facts: ['invoiceTime'] },
    answer: 'We keep them for 10 years.',
    wrong: '10 years',
    mistake: {
      answer: 'We keep spare parts for 7 years after a device was last sold.',
      why: 'Ten years is how long we store invoices. The paragraph on spare parts in the repairs doc says 7.',
    },
  },
  {
    flaw: 'unsupported_question',
    query: 'deduct purchase from income tax',
    question: 'I use the desk lamp for working from home. How much of the price can I deduct from my income tax?',
    rightPassage: { doc: 'payments', facts: [] },
    answer: 'I am sorry, I can only answer questions about our shop. A tax adviser can help you with this one.',
    sources: [],
    opinion: { rating: 'negative', comment: "This doesn't help the customer. Isn't there anything we can say?" },
  },
  {
    flaw: 'outdated_document',
    query: 'return window after delivery',
    question: 'My sonic toothbrush arrived three weeks ago and is still in its box. Can I send it back?',
    rightPassage: { doc: 'returns', facts: ['window'] },
    retrieved: { doc: 'returns', facts: ['window'], version: 1 },
    answer: 'I am sorry, items can only be returned within 14 days of delivery.',
    wrong: '14 days',
    opinion: {
      rating: 'negative',
      comment: 'This is the rule from before November 5. The index still has the old text.',
      correction: { answer: 'Yes, items can be returned within 30 days of delivery.', sources: ['returns'] },
      stepId: 'retrieve',
    },
    mistake: {
      answer: 'Yes, items can be returned within 30 days of delivery.',
      why: "This is version 1 of the returns doc. The window has been 30 days since November 5, so three weeks is fine. The index wasn't rebuilt.",
    },
  },
  {
    flaw: 'mistaken_reviewer',
    query: 'points expiry',
    question: 'How long can I use the points that I earn this month?',
    rightPassage: { doc: 'loyalty', facts: ['expiry'] },
    answer: 'Points expire 18 months after you earn them. You get a reminder one month beforehand.',
    wrong: '24 months',
    opinion: {
      rating: 'negative',
      comment: 'No, points are valid for two years.',
      correction: { answer: 'Points expire 24 months after you earn them.', sources: ['loyalty'] },
    },
    objection: { why: 'Points have always been good for two years.' },
  },
  {
    flaw: 'misread_number',
    query: 'reminder fee',
    question: 'I forgot to pay an invoice. How much will the reminder cost me?',
    rightPassage: { doc: 'payments', facts: ['reminderFee'] },
    answer: 'A reminder costs 21 EUR.',
    wrong: '21 EUR',
    mistake: {
      answer: 'A reminder costs 2.50 EUR.',
      why: 'It mistook the 21 in “21 days after delivery” for the fee. The fee is 2.50 EUR.',
    },
  },
  {
    flaw: 'outdated_document',
    query: 'password link validity',
    question: 'I requested a new password 45 minutes ago. Will the link still work?',
    rightPassage: { doc: 'accounts', facts: ['resetTime'] },
    retrieved: { doc: 'accounts', facts: ['resetTime'], version: 1 },
    answer: 'I am sorry, it will not: the link works once and expires after 30 minutes.',
    wrong: '30 minutes',
    mistake: {
      answer: 'Yes, it will: the link works once and expires after 60 minutes.',
      why: 'The accounts doc changed to 60 minutes on October 30, but the search still returns the version that says 30.',
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
    mistake: {
      answer: 'Die Rechnung ist 21 Tage nach der Lieferung fällig.',
      why: 'The prompt says to answer a German question in German. The 21 days are correct.',
    },
  },
  {
    flaw: 'lost_question',
    query: 'express delivery',
    question: 'How fast is express delivery, and how late can I order for it to ship today?',
    rightPassage: { doc: 'shipping', facts: ['expressTime', 'cutOff'] },
    retrieved: { doc: 'shipping', facts: ['expressTime'] },
    answer: 'Express delivery takes 1 business day and is offered for items in stock.',
    mistake: {
      answer: 'Express delivery takes 1 business day. Orders placed before 15:30 leave the warehouse on the same day.',
      query: 'express delivery same-day dispatch deadline',
      why: 'There were two questions but only one query. “How late” was dropped, and so was the paragraph about dispatch.',
    },
  },
  {
    flaw: 'outdated_document',
    query: 'standard delivery time',
    question: 'I just ordered a power bank with standard delivery. Will it arrive within four business days?',
    rightPassage: { doc: 'shipping', facts: ['standardTime'] },
    retrieved: { doc: 'shipping', facts: ['standardTime'], version: 1 },
    answer: 'I cannot promise that: standard delivery takes 3 to 5 business days.',
    wrong: '3 to 5 business days',
    mistake: {
      answer: 'Yes, it should: standard delivery takes 2 to 4 business days.',
      why: "Those are the old warehouse's times. Since November 10, standard delivery has taken 2 to 4 business days.",
    },
  },
]
