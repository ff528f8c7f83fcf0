import type { Flaw } from './trace.ts'

/** Occasional comments by reviewers who accept an output, by step. */
export const APPROVALS: Record<string, readonly string[]> = {
  'rewrite-query': ['These are the words that matter.', 'Nothing got lost.', 'Short and to the point.'],
  'embed-query': ['Model and size as configured.', 'No objections.'],
  retrieve: [
    'The first chunk is the one that counts.',
    "Checked against that day's handbook.",
    'The third one is irrelevant, but the right one is there.',
  ],
  'generate-answer': [
    'Says exactly what the chunk says.',
    'Checked against the doc.',
    'The numbers and the source are correct.',
    'I would have written the same.',
  ],
  'support-answer': ['This answers the question.', 'Correct; I read all of it.', 'Fine as sent.'],
  classify: ['Clear case.', 'Agreed, including the priority.', "Clear from the customer's words."],
  route: ['The right team for this label.', 'Matches the list of teams.', 'The reason and the team match.'],
  'ticket-triage': ['Would have filed it the same way.', 'Nothing to change.', 'Ended up in the right place.'],
  'read-document': [
    'Compared with the scan. Complete.',
    'All lines are there.',
    'Compared with the scan, page by page.',
  ],
  'extract-fields': [
    'Every field compared with the scan.',
    'Dates and amounts are correct.',
    'All lines, in order.',
    'Number copied exactly.',
  ],
  'validate-totals': ['Recalculated by hand.', 'It finds everything there is to find.', 'Agreed.'],
  'invoice-extraction': ['Booked as is.', 'Number, total, and status are correct.', 'Follows from the fields.'],
}

/** Comments on outputs that are wrong only because of an earlier output, by step. */
export type Sequels = Readonly<Record<string, readonly string[]>>

export const SEQUELS: Sequels = {
  retrieve: [
    'With that query, it could only find half. The doc {doc} also says: {facts}.',
    'The query is to blame. Added the paragraphs that say {facts}.',
  ],
  'generate-answer': [
    'It follows the chunks, but they were the wrong ones. The doc {doc} says {facts}.',
    "Not this step's fault. With the right paragraph of {doc}, it would have said {facts}.",
    'The model used what it got. From {doc}: {facts}.',
    'Wrong because of the retrieved chunks. The customer needs to know: {facts}.',
  ],
  'support-answer': [
    'This is what the customer got. It must say {facts}; see the steps.',
    'Same correction as in the previous step: {facts}.',
    'According to the doc {doc}: {facts}. Somebody should contact this customer.',
    'The same answer as in generate-answer, and the same correction: {facts}.',
    'This was sent. The correct answer is {facts}.',
    'The whole run has the same problem: {facts}.',
  ],
  route: [
    'Follows from the label. {category}, {priority} belongs to {team}.',
    'The label should be {category}, {priority}, so it goes to {team}.',
    'Routed correctly for the wrong label: {category}, {priority} goes to {team}.',
    'The reason must mention {category}, and the team for {category}, {priority} is {team}.',
  ],
  'ticket-triage': [
    'The correct result: {category}, {priority}, {language}, for {team}.',
    'Corrected like the steps: {category}, {priority}, {language}, for {team}.',
    'Overwritten by hand: {category}, {priority}, {language}, {team}.',
    'See the steps: {category} in {language} with priority {priority}, and {team} handles it.',
  ],
  'invoice-extraction': [
    'With the corrected fields, {invoice_number} is {status} with {total} {currency}.',
    'Accounting gets {total} {currency} for {invoice_number}. The fields are wrong, not this step.',
    'Follows from the extraction: {invoice_number}, {total} {currency}, {status}.',
    'I told accounting: number {invoice_number}, {total} {currency}.',
  ],
}

/** Comments on outputs that are wrong for reasons other than facts. */
export const SEQUELS_OF_FLAW: Partial<Record<Flaw, Sequels>> = {
  wrong_language: {
    'support-answer': ["The same answer in the customer's language.", 'Here too, only the language is wrong.'],
  },
  wrong_conclusion: { 'support-answer': ["As in the step: two days is less than five, so there's still time."] },
  wrong_order_number: {
    'support-answer': ['As in the step: we know which order the customer means, and the answer should mention it.'],
  },
}

/** Comments on runs for which no doc has an answer. */
export const SEQUELS_WITHOUT_FACTS: Sequels = {
  'support-answer': [
    'The customer relies on this, but no doc supports it. Same correction as in the step.',
    "We would have to keep that promise, and the handbook doesn't make it.",
    "Same as in generate-answer: it must not promise things we don't offer.",
  ],
}

/** Comments on the fallback answer that customers get if a run fails, used in turn. */
export const FALLBACK_WORDS = [
  "The search didn't respond, so the customer got the fallback. This is what the answer should have said.",
  'The provider rate-limited us three times. The question itself is easy.',
  'No answer because of the provider, not the question. A colleague wrote this by hand.',
  'The index timed out. With the chunks, the answer is obvious.',
]

/** A conversation between reviewers about an output, turn by turn. The reviewer who took the run writes the replies. */
export interface Thread {
  stepId: string
  /** The key of the output's run. If absent, any run without a mistake will do. */
  run?: string
  turns: readonly string[]
}

export const THREADS: readonly Thread[] = [
  {
    stepId: 'extract-fields',
    run: 'invoices/64',
    turns: [
      'The document has no VAT ID, but the schema requires one. What should we approve here?',
      "Certainly not the invented one. I'll leave this open until the schema allows null.",
      "Good. I've asked the supplier for an invoice with its VAT ID.",
    ],
  },
  {
    stepId: 'extract-fields',
    run: 'invoices/44',
    turns: [
      "The supplier's total is off by 9.00. Do we correct it?",
      'No, it was read as printed, and the validation caught it. The supplier has to send a new one.',
    ],
  },
  {
    stepId: 'generate-answer',
    run: 'support/30',
    turns: [
      'Where do the 10 business days come from? The doc says 5.',
      "From memory, I'm afraid. That was the rule at my last job.",
    ],
  },
  {
    stepId: 'generate-answer',
    run: 'support/20',
    turns: [
      'Cancel or return? The order is from this morning, so he can do either.',
      'Then the answer should ask which one he means. The prompt says nothing about that.',
      'I suggest a line for version 5: if a message can be read two ways, answer both.',
    ],
  },
  {
    stepId: 'generate-answer',
    run: 'support/55',
    turns: [
      'Is this the right thing to say about taxes?',
      'According to the prompt, yes: nothing to do with the shop, one sentence, no source.',
    ],
  },
  {
    stepId: 'classify',
    run: 'triage/24',
    turns: [
      'The lamp flickers, and the workshop sees it first either way. I would keep technical.',
      'Fine with me. He leaves it up to us, after all.',
    ],
  },
  {
    stepId: 'classify',
    run: 'triage/44',
    turns: [
      "A phone isn't one of our devices. Please take another look.",
      "You're right. I read “phone” and stopped there.",
    ],
  },
  { stepId: 'rewrite-query', turns: ['Does the product name help the search, or does it get in the way?'] },
  {
    stepId: 'rewrite-query',
    turns: ['Do we ever need six keywords?', 'Yes, if a message has two questions.'],
  },
  { stepId: 'rewrite-query', turns: ["This is a case where the doc's heading is the best query."] },
  { stepId: 'embed-query', turns: ["Do we have to review this step at all? There's nothing to read."] },
  {
    stepId: 'embed-query',
    turns: ['Same model as the index?', 'Yes, the index also uses embedding-small-1.'],
  },
  {
    stepId: 'retrieve',
    turns: [
      'The last chunk has nothing to do with it. Do we need three?',
      "It does no harm here. I'd look at more of them first.",
    ],
  },
  { stepId: 'retrieve', turns: ['A good example for new colleagues: the first chunk alone answers the question.'] },
  { stepId: 'retrieve', turns: ['The score drops a lot after the first chunk. Could the search stop there?'] },
  {
    stepId: 'generate-answer',
    turns: ['Should it end with an offer to help further?', 'No: “only what the customer needs to act”.'],
  },
  { stepId: 'generate-answer', turns: ["Let's keep this one for training new colleagues."] },
  { stepId: 'generate-answer', turns: ["I had to look twice. It's correct."] },
  { stepId: 'generate-answer', turns: ['A greeting would be nice, though nobody asked for one.'] },
  { stepId: 'support-answer', turns: ['Did this customer write again?', 'Not that I can see.'] },
  {
    stepId: 'support-answer',
    turns: ['We get this question every week. Maybe the answer should be on the product page.'],
  },
  { stepId: 'support-answer', turns: ['Fast enough, even for a chat.'] },
  {
    stepId: 'classify',
    turns: ['Does “Thank you” at the end make it less urgent?', 'No, only phrases like “it can wait” do.'],
  },
  { stepId: 'classify', turns: ['This would make a good example in the prompt, if we ever add some.'] },
  { stepId: 'classify', turns: ['How would we label this if the customer had also asked for a refund?'] },
  { stepId: 'route', turns: ["The team says they read the reason first, so it's good that it's short."] },
  {
    stepId: 'route',
    turns: ['Could a lookup table do this step?', 'Yes, except for the reason. We need the model for that.'],
  },
  { stepId: 'ticket-triage', turns: ['I asked: the team resolved it the same day.'] },
  {
    stepId: 'ticket-triage',
    turns: ['Please look at this one with me before the weekly meeting.', 'Done. It looks fine to me.'],
  },
  {
    stepId: 'read-document',
    turns: ['Does it always read the line with our own address?', "Yes, it's part of the heading."],
  },
  { stepId: 'read-document', turns: ['The columns are in place. The old page reader would have mixed them up.'] },
  { stepId: 'extract-fields', turns: ["The number is easy to misread here, but it's correct."] },
  {
    stepId: 'extract-fields',
    turns: ['The units get lost: pieces, boxes, hours. Does accounting need them?', 'No, they book by amount.'],
  },
  { stepId: 'extract-fields', turns: ['It took me three minutes to compare, mostly because of the lines.'] },
  { stepId: 'validate-totals', turns: ['It rounds the tax like our accounting does. Good.'] },
  { stepId: 'validate-totals', turns: ["Should this also check the due date against the supplier's terms?"] },
  {
    stepId: 'invoice-extraction',
    turns: ['Accounting wants the supplier in this result.', 'Noted for the next version.'],
  },
  { stepId: 'invoice-extraction', turns: ['Paid on time.'] },
]
