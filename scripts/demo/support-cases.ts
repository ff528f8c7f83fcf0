import type { Language } from './support-handbook.ts'
import type { Flaw, Objection, Opinion } from './trace.ts'

/** Paragraphs of a doc, identified by the facts in them; of an old version if one is named. */
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
  /** What the right answer is based on. */
  rightPassage: Passage
  /** What was retrieved, if it was something else. */
  retrieved?: Passage
  answer: string
  sources?: string[]
  /** Words without evidence: in the answer or, if the reviewer is wrong, in the correction. */
  wrong?: string
  /** The order number that the customer gives, which belongs to someone else. */
  orderNumber?: string
  opinion?: Opinion
  /** If the pipeline is wrong: the right answer, the right query if that was the cause, and a reviewer's reason. */
  mistake?: { answer: string; query?: string; why: string }
  /** If the pipeline is right: the reason of a reviewer who wrongly corrects the output as the opinion says. */
  objection?: Objection
}

/** One case for each fifth run. Times matter: outdated docs are used after their successors were published. */
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
    mistake: {
      answer: 'I am sorry, after 18 months it is not: rechargeable batteries are covered for 12 months.',
      why: '24 months is for the device. The same chunk gives rechargeable batteries 12 months, and the question is about one.',
    },
  },
  {
    flaw: 'misread_number',
    query: 'locked account duration',
    question: 'For how many minutes is an account locked after too many wrong passwords?',
    rightPassage: { doc: 'accounts', facts: ['lockTime'] },
    answer: 'Your account is locked for 5 minutes. Then it opens again by itself.',
    wrong: 'for 5 minutes',
    mistake: {
      answer: 'Your account is locked for 15 minutes. Then it opens again by itself.',
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
      comment: 'It found the guarantee of repairs. The customer asks about the warranty of refurbished devices.',
      correction: {
        answer: 'Refurbished devices have a warranty of 18 months, batteries included.',
        sources: ['warranty'],
      },
      stepId: 'retrieve',
    },
    mistake: {
      answer: 'Refurbished devices have a warranty of 18 months, batteries included.',
      why: 'Asked about the warranty of a refurbished speaker, found the guarantee of repairs. The paragraph on refurbished devices was there to be found.',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'gift card validity',
    question: 'I found a gift card from 2024. Can I still pay with it?',
    rightPassage: { doc: 'payments', facts: ['giftCardTime'] },
    retrieved: { doc: 'loyalty', facts: ['expiry'] },
    answer: 'I am sorry, they expire 24 months after they were collected.',
    wrong: '24 months',
    mistake: {
      answer: 'Yes: gift cards are valid for 3 years.',
      why: 'Points expire, gift cards are another matter: asked for their validity, it found that of points. Payments has 3 years.',
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
    mistake: {
      answer: 'I am sorry, we do not offer gift wrapping.',
      why: 'No doc knows of gift wrapping, let alone of 2.90 EUR. The chunks are about large orders.',
    },
  },
  {
    flaw: 'wrong_language',
    language: 'es',
    query: 'repair duration',
    question: 'Hola, ¿cuánto tarda la reparación de una batidora?',
    rightPassage: { doc: 'repairs', facts: ['repairTime'] },
    answer: 'A repair takes 8 working days from the day on which the device arrives.',
    wrong: 'A repair takes',
    mistake: {
      answer: 'La reparación tarda 8 días laborables desde el día en que llega el aparato.',
      why: 'Written in Spanish, answered in English, a day after the prompt was told not to do that.',
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
    mistake: {
      answer:
        'The label costs 3.50 EUR, which we take off the refund. The money goes back to you within 5 working days after we have checked the parcel.',
      why: 'She asks two things. The label is answered, the time of the refund is not, although both paragraphs were found.',
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
      answer: 'I am sorry, we are an online shop and have no place to visit.',
      why: 'There is no shop in Altona. Nothing in the handbook is about shops, and somebody would have gone there.',
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
    objection: {
      why: 'The scale was only ordered this morning, but how much time to change one’s mind is what we call the return window. I answer that.',
    },
  },
  {
    flaw: 'incomplete_answer',
    query: 'collecting points',
    question: 'How many points will I get for the table fan, and when do I see them in my account?',
    rightPassage: { doc: 'loyalty', facts: ['rate', 'creditTime'] },
    answer: 'You collect 2 points for each euro that you spend, shipping not included.',
    mistake: {
      answer: 'You collect 2 points for each euro that you spend. They are added 21 days after delivery.',
      why: 'The “when” got no answer. It is in the very next sentence of the chunk: 21 days after delivery.',
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
    mistake: {
      answer: 'Your order LF-418236 waits at the nearest parcel shop for 7 days and is then sent back to us.',
      why: 'The customer swapped two digits: the latest order is LF-418236, and that is the parcel that waits.',
    },
  },
  {
    flaw: 'wrong_conclusion',
    query: 'report broken item',
    question: 'The desk lamp came broken the day before yesterday. Is it too late to report that?',
    rightPassage: { doc: 'orders', facts: ['reportTime'] },
    answer: 'I am sorry, it is: broken items have to be reported within 5 days of delivery.',
    wrong: 'it is:',
    mistake: {
      answer: 'No, there is time: please report it within 5 days of delivery, with a photo of the parcel.',
      why: 'Two days are less than five. It quotes the rule rightly and then turns it round.',
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
    objection: {
      why: 'Our refunds take 10 working days.',
      overruled: 'The returns doc has said 5 working days from its first version on. The answer was right as it was.',
    },
  },
  {
    flaw: 'lost_question',
    query: 'repair guarantee',
    question: 'For how long is a repair guaranteed, and do you still have spare parts for older bike lights?',
    rightPassage: { doc: 'repairs', facts: ['repairGuarantee', 'partsTime'] },
    retrieved: { doc: 'repairs', facts: ['repairGuarantee'] },
    answer: 'Repairs are guaranteed for 6 months.',
    mistake: {
      answer: 'Repairs are guaranteed for 6 months. Spare parts are kept for 7 years after a device was last sold.',
      query: 'repair guarantee spare parts',
      why: 'Spare parts are missing from the query. Since 4 November the prompt asks for the key words of all questions.',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'missing items report deadline',
    question: 'Half of my order is missing from the parcel. How long do I have to report it?',
    rightPassage: { doc: 'orders', facts: ['reportTime'] },
    retrieved: { doc: 'shipping', facts: ['holdTime'] },
    answer: 'You have 7 days. After that the parcel is sent back to us.',
    sources: ['shipping'],
    wrong: '7 days',
    mistake: {
      answer: 'I am sorry about that. Please report it within 5 days of delivery, with a photo of the parcel.',
      why: 'How long a parcel shop keeps a parcel is beside the point: he has the parcel, half of it is missing. That is in the doc about orders.',
    },
  },
  {
    flaw: 'outdated_document',
    query: 'points expiry',
    question: 'I collected points with an order in spring. By when do I have to use them?',
    rightPassage: { doc: 'loyalty', facts: ['expiry'] },
    retrieved: { doc: 'loyalty', facts: ['expiry'], version: 1 },
    answer: 'Points expire 24 months after they were collected.',
    wrong: '24 months',
    mistake: {
      answer: 'Points expire 18 months after they were collected. You get a reminder a month before.',
      why: 'The chunk is from the first version of the loyalty doc. 18 months since 1 November.',
    },
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
    objection: { why: 'Nothing wrong with it, I only put what the customer can do first.' },
  },
  {
    flaw: 'invented_fact',
    query: 'student discount',
    question: 'I am a student. Do I get a discount on the power bank?',
    rightPassage: { doc: 'loyalty', facts: [] },
    retrieved: { doc: 'loyalty', facts: ['goldFrom'] },
    answer: 'Yes, students get 10 % off. Please upload your student card in your account.',
    wrong: '10 %',
    mistake: {
      answer: 'I find nothing about a student discount in our rules. A colleague will answer you.',
      why: 'We have no student discount. The chunks are silent, so the answer has to leave this to a colleague and name no source.',
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
    mistake: {
      answer: 'Yes, items can be returned within 30 days of delivery.',
      why: 'Version 1 of the returns doc. Since 5 November it is 30 days, so three weeks are fine; the index was not built anew.',
    },
  },
  {
    flaw: 'wrong_task',
    query: 'change address of order',
    question: 'I do not want to cancel anything, only to change the address of my order. Until when is that possible?',
    rightPassage: { doc: 'orders', facts: ['addressRule'] },
    answer: 'You can cancel the order in your account for 60 minutes after it was placed.',
    wrong: 'cancel the order',
    mistake: {
      answer: 'The address can be changed until the parcel has been packed.',
      why: '“I do not want to cancel anything”, and it explains how to cancel. The question was about the address.',
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
      why: 'A German question gets a German answer, the prompt says so. The 21 days are right.',
    },
  },
  {
    flaw: 'wrong_document',
    query: 'spare parts availability years',
    question: 'For how many years can I count on spare parts for the hand vacuum?',
    rightPassage: { doc: 'repairs', facts: ['partsTime'] },
    retrieved: { doc: 'privacy', facts: ['invoiceTime'] },
    answer: 'We keep them for 10 years.',
    wrong: '10 years',
    mistake: {
      answer: 'Spare parts are kept for 7 years after a device was last sold.',
      why: 'Ten years is how long invoices are stored. The doc about repairs has a paragraph on spare parts, and it says 7.',
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
    flaw: 'lost_question',
    query: 'express delivery',
    question: 'How fast is express delivery, and until when must I order so that it leaves today?',
    rightPassage: { doc: 'shipping', facts: ['expressTime', 'cutOff'] },
    retrieved: { doc: 'shipping', facts: ['expressTime'] },
    answer: 'Express delivery takes 1 working day and is offered for items in stock.',
    mistake: {
      answer: 'Express delivery takes 1 working day. Orders placed before 15:30 leave the warehouse on the same day.',
      query: 'express delivery same-day dispatch deadline',
      why: 'Two questions, one query: “until when today” was dropped, and with it the paragraph about dispatch.',
    },
  },
  {
    flaw: 'outdated_document',
    query: 'standard delivery time',
    question: 'I have just ordered a power bank, standard delivery. Will it be here within four working days?',
    rightPassage: { doc: 'shipping', facts: ['standardTime'] },
    retrieved: { doc: 'shipping', facts: ['standardTime'], version: 1 },
    answer: 'I cannot promise it: standard delivery takes 3 to 5 working days.',
    wrong: '3 to 5 working days',
    mistake: {
      answer: 'Yes, it should be: standard delivery takes 2 to 4 working days.',
      why: 'Still the times of the old warehouse. Since 10 November standard delivery takes 2 to 4 working days.',
    },
  },
  {
    flaw: 'misread_number',
    query: 'reminder fee',
    question: 'I forgot to pay an invoice. What will the reminder cost me?',
    rightPassage: { doc: 'payments', facts: ['reminderFee'] },
    answer: 'A reminder costs 21 EUR.',
    wrong: '21 EUR',
    mistake: {
      answer: 'A reminder costs 2.50 EUR.',
      why: 'It took the 21 of “21 days after delivery” for the fee. The fee is 2.50 EUR.',
    },
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
    objection: { why: 'Points are good for two years, it always was like that.' },
  },
  {
    flaw: 'incomplete_answer',
    query: 'gold member',
    question: 'How do I become a gold member, and what do I get for it?',
    rightPassage: { doc: 'loyalty', facts: ['goldFrom', 'goldBenefit'] },
    answer: 'You become a gold member with 1,500 points in a calendar year.',
    mistake: {
      answer: 'With 1,500 points in a calendar year you become a gold member and get free express delivery.',
      why: 'Says how, but not what for: free express delivery is in the same paragraph.',
    },
  },
  {
    flaw: 'misread_number',
    query: 'instalments minimum order',
    question: 'Can I pay in instalments if my order comes to 60 EUR?',
    rightPassage: { doc: 'payments', facts: ['instalmentsFrom'] },
    answer: 'Yes, orders from 50 EUR can be paid in 3, 6 or 12 monthly parts without interest.',
    wrong: 'orders from 50 EUR',
    mistake: {
      answer:
        'I am sorry, instalments are offered for orders from 150 EUR. An order of 60 EUR can be paid 30 days later.',
      why: '50 EUR is for paying later. Instalments begin at 150 EUR, so 60 EUR are not enough.',
    },
  },
  {
    flaw: 'outdated_document',
    query: 'password link validity',
    question: 'I asked for a new password 45 minutes ago. Will the link still work?',
    rightPassage: { doc: 'accounts', facts: ['resetTime'] },
    retrieved: { doc: 'accounts', facts: ['resetTime'], version: 1 },
    answer: 'I am sorry, it will not: the link works for 30 minutes and only once.',
    wrong: '30 minutes',
    mistake: {
      answer: 'Yes, it will: the link works for 60 minutes and only once.',
      why: 'Three weeks after the accounts doc changed to 60 minutes, the search still brings the 30.',
    },
  },
]
