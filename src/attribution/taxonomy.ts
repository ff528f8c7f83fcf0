import type { ErrorType } from '../domain/attribution.ts'

/**
 * The built-in error types, as the migration seeds them, in display order: errors by users, errors by the people who
 * review or write guidelines, then errors by the AI.
 */
export const TAXONOMY = [
  {
    errorType: 'ambiguous_request',
    id: '4bac455a-1230-5af5-a1fd-d855390ef62f',
    name: 'Ambiguous request',
    category: 'User Error',
    rule: 'The input supports two or more readings; AI and reviewer chose different ones, each defensible.',
  },
  {
    errorType: 'missing_input_information',
    id: 'd472313d-0872-5eeb-b246-e6d91f0eae52',
    name: 'Missing input information',
    category: 'User Error',
    rule: 'A fact needed for the approved output is nowhere in the input, state or active knowledge docs.',
  },
  {
    errorType: 'incorrect_input_data',
    id: 'c084e80d-8805-5b81-b8dd-899e0677dadc',
    name: 'Incorrect input data',
    category: 'User Error',
    rule: 'The input states something false, corrupted or self-contradictory, and the output follows from it.',
  },
  {
    errorType: 'unsupported_request',
    id: '7dd994c9-62c3-5520-a302-12edc791ab7c',
    name: 'Unsupported request',
    category: 'User Error',
    rule: "The request is outside the pipeline's scope or policy; no correct in-scope output exists.",
  },
  {
    errorType: 'reviewer_mistake',
    id: '6adf7fac-8b1f-5409-a187-fce35b9dc35a',
    name: 'Reviewer mistake',
    category: 'Human Error',
    rule: "The correction contradicts the input, the prompt, the knowledge docs, or the reviewer's own decision on an equal case; the output was right.",
  },
  {
    errorType: 'acceptable_variation',
    id: '041f6b93-d04f-51ae-8bab-0b2e73a4a310',
    name: 'Acceptable variation',
    category: 'Human Error',
    rule: 'Both outputs satisfy prompt and schema; the change is style, wording or taste.',
  },
  {
    errorType: 'ambiguous_guideline',
    id: 'd74f6ef9-b9ec-5618-bcb7-9416556a7420',
    name: 'Ambiguous guideline',
    category: 'Human Error',
    rule: 'The prompt or guideline is silent, vague or contradictory on this case; qualified reviewers differ.',
  },
  {
    errorType: 'outdated_reference',
    id: '964f9fb8-7ac7-51f9-9f22-10aa655ab742',
    name: 'Outdated reference',
    category: 'Human Error',
    rule: 'The AI followed a knowledge doc, prompt example or ground truth that a human had let become stale or wrong.',
  },
  {
    errorType: 'instruction_noncompliance',
    id: '20edbbb7-feae-5bf0-9fcb-d9053c83add5',
    name: 'Instruction not followed',
    category: 'AI Error',
    rule: 'A clear instruction in the prompt or state was present and broken.',
  },
  {
    errorType: 'task_misunderstanding',
    id: '765d262c-0757-58c5-8262-57d6f36631ec',
    name: 'Task misunderstood',
    category: 'AI Error',
    rule: 'The output answers another task, or drifts from the goal, although the request was clear.',
  },
  {
    errorType: 'hallucinated_content',
    id: '6dccd9ed-11cf-54ec-8538-fb9527a03852',
    name: 'Hallucinated content',
    category: 'AI Error',
    rule: 'The output holds a fact, field or citation with no support in input, state or knowledge docs.',
  },
  {
    errorType: 'retrieval_failure',
    id: 'e0a57832-b2b9-5b84-b219-e5572ccfb67c',
    name: 'Retrieval failure',
    category: 'AI Error',
    rule: 'Needed evidence exists in the knowledge base but was not fetched, or irrelevant chunks were.',
  },
  {
    errorType: 'context_misinterpretation',
    id: 'c3ae9de2-44e5-5029-9537-6fcd96db2bd3',
    name: 'Context misinterpreted',
    category: 'AI Error',
    rule: 'The right evidence was in context but ignored, misread, or lost between steps.',
  },
  {
    errorType: 'reasoning_error',
    id: '04980ad2-af3f-585d-b08d-a9819edffa04',
    name: 'Reasoning error',
    category: 'AI Error',
    rule: 'Evidence and instructions were read properly; inference, calculation or classification was wrong.',
  },
  {
    errorType: 'tool_invocation_error',
    id: '9ec4322f-c3a7-5d69-ab2c-3c0cad6d998c',
    name: 'Tool invocation error',
    category: 'AI Error',
    rule: 'Wrong tool, wrong or malformed arguments, or the same call repeated without effect.',
  },
  {
    errorType: 'output_format_violation',
    id: '7bf0f8d3-89ac-5a5b-a41c-02a672484455',
    name: 'Output format violation',
    category: 'AI Error',
    rule: 'The output breaks its schema, or only its shape (not its meaning) was corrected.',
  },
  {
    errorType: 'incomplete_output',
    id: '168a57a5-5609-5d21-91ac-ca5d2eb31cec',
    name: 'Incomplete output',
    category: 'AI Error',
    rule: 'Everything present is right, but required items are missing or cut off.',
  },
  {
    errorType: 'system_failure',
    id: '810653db-78df-5e07-bc04-ffbc60970dc1',
    name: 'System failure',
    category: 'AI Error',
    rule: 'A time-out, provider error, rate limit or crash produced the wrong or empty output.',
  },
] as const satisfies readonly ErrorType[]

export type BuiltInErrorType = (typeof TAXONOMY)[number]['errorType']

/** If several types have equal evidence, the first of these that applies wins. */
export const DECIDED_FIRST: readonly BuiltInErrorType[] = [
  'system_failure',
  'output_format_violation',
  'missing_input_information',
  'incorrect_input_data',
  'outdated_reference',
  'reviewer_mistake',
]

/** The built-in error types in the order that breaks ties. */
export const TIE_ORDER: readonly BuiltInErrorType[] = [
  ...DECIDED_FIRST,
  ...TAXONOMY.map(({ errorType }) => errorType).filter(errorType => !DECIDED_FIRST.includes(errorType)),
]

const byErrorType: ReadonlyMap<string, ErrorType> = new Map(TAXONOMY.map(type => [type.errorType, type]))

/** The built-in error type with this name. */
export const findBuiltIn = (errorType: string): ErrorType | undefined => byErrorType.get(errorType)
