import type { Flaw } from './trace.ts'

/** Occasional comments of reviewers who accept an output, by step. */
export const APPROVALS: Record<string, readonly string[]> = {
  'rewrite-query': [
    'These are the words that decide.',
    'Nothing lost on the way.',
    'Short, and what the question is about.',
  ],
  'embed-query': ['Model and size as configured.', 'Nothing to object to.'],
  retrieve: [
    'The first chunk is the one that counts.',
    'Compared with the handbook of that day.',
    'The third one is beside the point, but the right one is there.',
  ],
  'generate-answer': [
    'Says what the chunk says, no more.',
    'Checked against the doc.',
    'Numbers and source are right.',
    'I would have written the same.',
  ],
  'support-answer': ['The answer fits the question.', 'Right, read from beginning to end.', 'Fine as it went out.'],
  classify: ['Clear case.', 'Agreed, also with the priority.', 'Clear from the words of the customer.'],
  route: ['The right team for this label.', 'By the list of teams.', 'Reason and team fit together.'],
  'ticket-triage': ['Would have filed it the same way.', 'Nothing to change.', 'Arrived where it belongs.'],
  'read-document': ['Compared with the scan, complete.', 'All lines are there.', 'Page by page with the scan.'],
  'extract-fields': [
    'Every field compared with the scan.',
    'Dates and amounts are right.',
    'All lines, in order.',
    'Number copied exactly.',
  ],
  'validate-totals': ['Calculated again by hand.', 'It sees what there is to be seen.', 'Agreed.'],
  'invoice-extraction': ['Booked like this.', 'Number, total and status are right.', 'Follows from the fields.'],
}

/** Comments on outputs that are wrong only because of an earlier output, by step. */
export type Sequels = Readonly<Record<string, readonly string[]>>

export const SEQUELS: Sequels = {
  retrieve: [
    'With that query it could only find half. The doc {doc} also says: {facts}.',
    'The query is to blame. Added the paragraphs that say {facts}.',
  ],
  'generate-answer': [
    'True to the chunks, but they were the wrong ones: {facts} is what the doc {doc} says.',
    'No fault of this step. With the right paragraph of {doc} in front of it, it would have said {facts}.',
    'The model used what it was given. From {doc}: {facts}.',
    'Wrong because of what was retrieved. The customer needs to hear {facts}.',
  ],
  'support-answer': [
    'This is what the customer got. It has to say {facts}, see the steps.',
    'Corrected as in the step before: {facts}.',
    '{facts}, by the doc {doc}. Somebody should write to this customer.',
    'The same answer as in generate-answer, and the same correction: {facts}.',
    'Went out like this. {facts} would have been right.',
    'For the whole run, too: {facts}.',
  ],
  route: [
    'Follows from the label. As {category}, {priority}, it is for {team}.',
    'The label should be {category}, {priority}. With that, it goes to {team}.',
    'Routed by the book, but by the wrong label: {category}, {priority} goes to {team}.',
    'The reason has to name {category}, and for {category}, {priority} the team is {team}.',
  ],
  'ticket-triage': [
    'The ticket as it should have come out: {category}, {priority}, {language}, for {team}.',
    'Corrected like the steps: {category}, {priority}, {language}, for {team}.',
    'Written over by hand: {category}, {priority}, {language}, {team}.',
    'See the steps: {category} in {language} with priority {priority}, and {team} settles it.',
  ],
  'invoice-extraction': [
    'With the fields as corrected, {invoice_number} is {status} with {total} {currency}.',
    'Accounting gets {total} {currency} for {invoice_number}. The fields are to blame, not this.',
    'Follows from the extraction: {invoice_number}, {total} {currency}, {status}.',
    'Told accounting: number {invoice_number}, {total} {currency}.',
  ],
}

/** For flaws other than wrong facts. */
export const SEQUELS_OF_FLAW: Partial<Record<Flaw, Sequels>> = {
  wrong_language: {
    'support-answer': ['The same in the language of the customer.', 'Nothing but the language is wrong here, too.'],
  },
  wrong_conclusion: { 'support-answer': ['As in the step: two days are fewer than five, so there is time.'] },
  wrong_order_number: {
    'support-answer': ['As in the step: we know which order is meant, and the answer should name it.'],
  },
}

/** For runs in which no doc has an answer. */
export const SEQUELS_WITHOUT_FACTS: Sequels = {
  'support-answer': [
    'The customer relies on this, and no doc bears it out. Corrected as in the step.',
    'We would have to keep that promise. The handbook makes none.',
    'Same as in generate-answer: it must not promise what we do not have.',
  ],
}

/** Comments on the fallback answer that customers get if a run fails, used in turn. */
export const FALLBACK_WORDS = [
  'The search did not answer, so the customer got the fallback. This is what he should have read.',
  'Rate limit at the provider, three times. The question itself is an easy one.',
  'No answer because of the provider, not because of the question. The colleague wrote this by hand.',
  'Time-out of the index. With the chunks at hand, the answer is plain.',
]

/** A conversation between reviewers about an output, turn by turn. The reviewer who took the run answers. */
export interface Thread {
  stepId: string
  /** The key of its run. If absent, any run without a mistake will do. */
  run?: string
  said: readonly string[]
}

export const THREADS: readonly Thread[] = [
  {
    stepId: 'extract-fields',
    run: 'invoices/64',
    said: [
      'The document has no VAT id, and the schema wants one. What are we to approve here?',
      'Not the invented one, that is certain. I leave this open until the schema allows null.',
      'Good. I have asked the supplier for an invoice with its VAT id.',
    ],
  },
  {
    stepId: 'extract-fields',
    run: 'invoices/44',
    said: [
      'The supplier added up wrongly by 9.00. Do we correct the total?',
      'No: it is read as printed, and the validation found it. The supplier has to send a new one.',
    ],
  },
  {
    stepId: 'generate-answer',
    run: 'support/64',
    said: [
      'Where do the 10 working days come from? The doc says 5.',
      'From memory, I am afraid. That was the rule at my last shop.',
    ],
  },
  {
    stepId: 'generate-answer',
    run: 'support/44',
    said: [
      'Cancel or return? The order is from this morning, so both are open to him.',
      'Then the answer should ask back. The prompt has nothing about that.',
      'I suggest a line for version 5: if a message can be read in two ways, say both.',
    ],
  },
  {
    stepId: 'generate-answer',
    run: 'support/114',
    said: [
      'Is this the right thing to say about taxes?',
      'By the prompt, yes: nothing to do with the shop, one sentence, no source.',
    ],
  },
  {
    stepId: 'classify',
    run: 'triage/24',
    said: [
      'The lamp flickers, and the workshop sees it first in both cases. I would keep technical.',
      'Fine with me. He leaves it to us, after all.',
    ],
  },
  {
    stepId: 'classify',
    run: 'triage/44',
    said: [
      'A phone is no device of ours. Please have a second look.',
      'You are right, I read “phone” and stopped there.',
    ],
  },
  { stepId: 'rewrite-query', said: ['Does the name of the product help the search, or is it in the way?'] },
  {
    stepId: 'rewrite-query',
    said: ['Are six key words ever needed?', 'For two questions in one message they are.'],
  },
  { stepId: 'rewrite-query', said: ['One of those where the heading of the doc is the best query.'] },
  { stepId: 'embed-query', said: ['Do we have to review this step at all? There is nothing to read in it.'] },
  {
    stepId: 'embed-query',
    said: ['Same model as the index?', 'Yes, the index is built with embedding-small-1 as well.'],
  },
  {
    stepId: 'retrieve',
    said: [
      'The last chunk has nothing to do with it. Do we need three?',
      'It does no harm here. I would look at more of them first.',
    ],
  },
  { stepId: 'retrieve', said: ['Good example for new colleagues: the first chunk alone answers the question.'] },
  { stepId: 'retrieve', said: ['The score drops a lot after the first chunk. Could the search cut there?'] },
  {
    stepId: 'generate-answer',
    said: [
      'Should it end with an offer to help further?',
      'No: “what the customer needs in order to act, and no more”.',
    ],
  },
  { stepId: 'generate-answer', said: ['Keep this one for the training of the new colleagues.'] },
  { stepId: 'generate-answer', said: ['I had to look twice. It is right.'] },
  { stepId: 'generate-answer', said: ['A greeting would be nice, though nobody asked for one.'] },
  { stepId: 'support-answer', said: ['Did this customer write again afterwards?', 'Not that I can see.'] },
  { stepId: 'support-answer', said: ['A question that we get every week. Perhaps it should be on the product page.'] },
  { stepId: 'support-answer', said: ['Fast enough, also for a chat.'] },
  {
    stepId: 'classify',
    said: ['Does “Thank you” at the end make it less pressing?', 'No. Only “it can wait” and the like do.'],
  },
  { stepId: 'classify', said: ['One for the examples in the prompt, should we ever add some.'] },
  { stepId: 'classify', said: ['How would we label this if the customer had asked for the money back as well?'] },
  { stepId: 'route', said: ['The team says that it reads the reason first. Good that it is short.'] },
  {
    stepId: 'route',
    said: ['Could a table do this step?', 'It could. The reason is what the model is for.'],
  },
  { stepId: 'ticket-triage', said: ['Settled by the team on the same day, I asked.'] },
  {
    stepId: 'ticket-triage',
    said: ['Please look at this one with me before the weekly meeting.', 'Done, no doubts on my side.'],
  },
  {
    stepId: 'read-document',
    said: ['Is the line with our own address always read?', 'Yes, it is part of the heading.'],
  },
  { stepId: 'read-document', said: ['Columns are in place. The old page reader would have mixed them up.'] },
  { stepId: 'extract-fields', said: ['The number is easy to mistake here. It is copied rightly.'] },
  {
    stepId: 'extract-fields',
    said: ['Units are lost: pieces, boxes, hours. Does accounting miss them?', 'No, it books by amount.'],
  },
  { stepId: 'extract-fields', said: ['Took me three minutes to compare, mostly because of the lines.'] },
  { stepId: 'validate-totals', said: ['Rounds the tax like our accounting does. Good.'] },
  { stepId: 'validate-totals', said: ['Should this also compare the due date with the terms of the supplier?'] },
  {
    stepId: 'invoice-extraction',
    said: ['Accounting asks for the supplier in this result.', 'Noted for the next version.'],
  },
  { stepId: 'invoice-extraction', said: ['Paid in time.'] },
]
