import { listDatasets } from '../datasets/datasets.ts'
import { DECISIONS } from '../domain/review-state.ts'
import { createExperiment } from '../experiments/create.ts'
import { listExperimentItems } from '../experiments/items.ts'
import { cancelExperiment, finishExperiment } from '../experiments/lifecycle.ts'
import { getExperiment, listExperiments } from '../experiments/reports.ts'
import { postResults } from '../experiments/results.ts'
import { attributeTrace, getAttribution } from '../ingest/attribute.ts'
import { MAX_COMMENT_LENGTH, MAX_NAME_LENGTH, TOOL_PAGE_LIMIT } from '../limits.ts'
import { createPromptVersion } from '../manage/prompts.ts'
import { getProblem, listProblems } from '../problems/list.ts'
import { listErrorTypes } from '../read/error-types.ts'
import { getPrompt, listPrompts } from '../read/prompts.ts'
import { getSpan, listSpans } from '../read/spans.ts'
import { getTrace, listTraces } from '../read/traces.ts'
import { getReviewQueue } from '../review/queue.ts'
import { putReview } from '../review/reviews.ts'
import type { Tool } from './tool.ts'

/** The arguments and defaults of the tools that return lists. */
const page = ['limit', 'cursor'] as const
const shortPage = { limit: TOOL_PAGE_LIMIT }

/**
 * The tools that agents can use, in the order in which they're listed. There are no tools for what only people may do:
 * activate prompt versions, settle disputes, or change gates, evaluators, datasets, review policies, keys, or users.
 */
export const tools: readonly Tool[] = [
  {
    name: 'search_traces',
    title: 'Search traces',
    description:
      'Lists traces, newest first, with a preview of their input and output. Filters by text, metadata, step, error type, review state, feedback, and time. Changes nothing.',
    endpoint: listTraces,
    offers: [
      'contains',
      'name',
      'nameContains',
      'status',
      'from',
      'to',
      'stepId',
      'promptVersionId',
      'review',
      'errorType',
      'engineErrorType',
      'hasFeedback',
      'rating',
      'metadata',
      'sort',
      ...page,
    ],
    defaults: shortPage,
  },
  {
    name: 'get_trace',
    title: 'Read a trace',
    description:
      'Shows a trace with its steps (called spans) and its feedback. Values are previews; read a span in full with get_span. Changes nothing.',
    endpoint: getTrace,
    offers: ['spanLimit', 'spanCursor', 'feedbackCursor'],
    fixed: { payloads: 'preview' },
    defaults: { spanLimit: 50 },
    needsProject: ({ traceId }) => typeof traceId === 'string' && traceId.startsWith('trace_'),
  },
  {
    name: 'search_spans',
    title: 'Search spans',
    description:
      'Lists the steps (called spans) of all traces. Filters by step, text, review state, decision, error type, prompt version, and problem. Values are previews. Changes nothing.',
    endpoint: listSpans,
    offers: [
      'contains',
      'stepId',
      'promptVersionId',
      'model',
      'review',
      'hasOutput',
      'decision',
      'errorType',
      'problemId',
      'namedBy',
      'from',
      'to',
      'reviewedFrom',
      'reviewedTo',
      ...page,
    ],
    fixed: { payloads: 'preview' },
    defaults: shortPage,
  },
  {
    name: 'get_span',
    title: 'Read a span',
    description:
      'Shows a step of a trace: its input, state, output, review, and what agents suggested. Long values are shortened; continue with path and offset. Changes nothing.',
    endpoint: getSpan,
    offers: [],
  },
  {
    name: 'next_review_item',
    title: 'Get the next output to review',
    description:
      "Shows the next output in the review queue. Doesn't claim it, so people can review it at the same time. Suggesting a decision leaves the output in the queue; to continue, pass nextCursor as cursor. Changes nothing.",
    endpoint: getReviewQueue,
    offers: ['cursor', 'order', 'stepId', 'name', 'rating', 'from', 'to', 'metadata'],
    fixed: { limit: '1' },
  },
  {
    name: 'suggest_decision',
    title: 'Suggest a decision on an output',
    description:
      "Adds your decision on a span's output as a suggestion, which replaces your earlier one. People see it next to the output and decide themselves. It never changes the review, the approved output, votes, or datasets.",
    endpoint: putReview,
    offers: ['decision', 'approvedOutput', 'comment', 'errorType', 'force'],
    shown: {
      decision: {
        type: 'string',
        enum: [...DECISIONS, 'reset'],
        description:
          'accept: the output is right. correct: approvedOutput is the right output. reset: the review should start over.',
      },
      approvedOutput: { description: 'For correct: the output as it should be, as any JSON value' },
      comment: { type: 'string', maxLength: MAX_COMMENT_LENGTH, description: 'The reason for the decision' },
      errorType: {
        type: 'string',
        maxLength: MAX_NAME_LENGTH,
        description: 'What the output got wrong: the name of a type from list_error_types',
      },
      force: {
        type: 'boolean',
        description: "Whether to suggest an output that violates the step's outputSchema. Default: false.",
      },
    },
    required: ['decision'],
    isIdempotent: true,
  },
  {
    name: 'list_error_types',
    title: 'List error types',
    description: 'Lists what can be wrong with an output, with a rule for each type. Changes nothing.',
    endpoint: listErrorTypes,
    offers: page,
    defaults: { limit: 50 },
    needsProject: () => false,
  },
  {
    name: 'attribute_trace',
    title: 'Find the cause of a wrong output',
    description:
      "Asks the attribution engine which step of a trace caused a person's objection, and stores its answer. This can cost a model call. If there's no new data, returns the previous answer. If the status is pending, call get_attribution later.",
    endpoint: attributeTrace,
    offers: [],
    isIdempotent: true,
  },
  {
    name: 'get_attribution',
    title: 'Read the cause of a wrong output',
    description: "Shows the attribution engine's answer for a trace. Changes nothing.",
    endpoint: getAttribution,
    offers: [],
  },
  {
    name: 'list_prompts',
    title: 'List prompts',
    description: "Lists the prompts for a project's steps, with their active versions. Changes nothing.",
    endpoint: listPrompts,
    offers: ['stepId', ...page],
    defaults: shortPage,
  },
  {
    name: 'get_prompt',
    title: 'Read a prompt',
    description:
      "Shows a prompt with all its versions, how reviewers judged each, and the step's gate. Changes nothing.",
    endpoint: getPrompt,
    offers: [],
  },
  {
    name: 'add_prompt_version',
    title: 'Add a version of a prompt',
    description:
      "Stores a new version of a prompt. It isn't active: pipelines keep the version they use until a person activates this one. Calling this tool again adds another version.",
    endpoint: createPromptVersion,
    offers: ['content', 'outputSchema', 'note'],
    fixed: { activate: false },
  },
  {
    name: 'list_datasets',
    title: 'List datasets',
    description:
      "Lists the steps' datasets. A step's dataset has the outputs that people approved, and each experiment runs on one dataset. Changes nothing.",
    endpoint: listDatasets,
    offers: page,
    defaults: shortPage,
  },
  {
    name: 'list_experiments',
    title: 'List experiments',
    description: 'Lists experiments, newest first. Changes nothing.',
    endpoint: listExperiments,
    offers: ['datasetId', 'promptVersionId', 'state', ...page],
    defaults: shortPage,
  },
  {
    name: 'start_experiment',
    title: 'Start an experiment',
    description:
      "Tries a version of a prompt on a dataset's items. If `runner` is `model`, the service calls the configured model, which costs money; set maxCostUsd. If it's `client`, run the items from list_experiment_items yourself and send their outputs with add_experiment_results. Choose an id so that repeating the call doesn't start another experiment. Doesn't change prompts or datasets.",
    endpoint: createExperiment,
    offers: [
      'id',
      'datasetId',
      'split',
      'sample',
      'itemId',
      'name',
      'metadata',
      'promptVersionId',
      'runner',
      'model',
      'baseline',
      'maxCostUsd',
    ],
  },
  {
    name: 'get_experiment',
    title: "Read an experiment's report",
    description:
      "Shows an experiment's state and report: how many items it fixed and broke, and whether it meets the gate. Changes nothing.",
    endpoint: getExperiment,
    offers: [],
  },
  {
    name: 'list_experiment_items',
    title: "List an experiment's items",
    description:
      "Lists an experiment's items with the expected outputs, the candidate's outputs, and how they differ. Changes nothing.",
    endpoint: listExperimentItems,
    offers: ['outcome', 'change', 'judgment', 'pending', 'split', 'errorType', 'itemId', 'problemId', ...page],
    defaults: { limit: 5 },
  },
  {
    name: 'add_experiment_results',
    title: "Add outputs to an experiment's items",
    description:
      "Stores the candidate's outputs for items of a running experiment whose runner is `client`. An item keeps its first output. The experiment finishes when every item has an output.",
    endpoint: postResults,
    offers: ['results'],
    isIdempotent: true,
  },
  {
    name: 'finish_experiment',
    title: 'Finish an experiment',
    description: 'Permanently ends a running experiment. Items without a result count as errors.',
    endpoint: finishExperiment,
    offers: [],
    isIdempotent: true,
    isDestructive: true,
  },
  {
    name: 'cancel_experiment',
    title: 'Cancel an experiment',
    description:
      "Permanently ends a running experiment. The experiment keeps its results, but accepts no more results and can't meet a gate.",
    endpoint: cancelExperiment,
    offers: [],
    isIdempotent: true,
    isDestructive: true,
  },
  {
    name: 'list_problems',
    title: 'List problems',
    description:
      'Lists the problems that affect the most outputs, by step and error type, with the number of cases and the state of the fix. Changes nothing.',
    endpoint: listProblems,
    offers: ['state', 'from', 'to', ...page],
    defaults: shortPage,
  },
  {
    name: 'get_problem',
    title: 'Read a problem',
    description:
      'Shows a problem: its cases over time, and how far along its fix is. List its cases with search_spans and problemId. Changes nothing.',
    endpoint: getProblem,
    offers: ['from', 'to'],
  },
]
