import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/domain/json.ts'
import type { SentType } from '../../src/domain/webhook.ts'
import { slackMessage } from '../../src/webhooks/slack.ts'

const ORIGIN = 'https://countersign.example.com'
const TRACE = { trace: { id: 'trace-uuid', traceId: 'trace_1' } }
const ON_SPAN = { ...TRACE, spanId: 'span-uuid', stepId: 'generate-answer' }
const ON_PROMPT = { promptId: 'prompt-uuid', stepId: 'generate-answer', versionNumber: 2, previousVersionNumber: 3 }
const AT_SPAN = '/traces/trace-uuid?project=support&span=span-uuid'

const message = (type: SentType, data: JsonObject) =>
  slackMessage(
    {
      type,
      timestamp: '2026-11-21T11:12:00.000Z',
      data: { sequence: 1, at: '2026-11-21T11:12:00.000Z', projectId: null, projectSlug: 'support', ...data },
    },
    ORIGIN,
  )

/** A whole message with these lines and a link to this path. */
const whole = (headline: string, lines: readonly string[], path?: string) => ({
  text: headline,
  blocks: [`*${headline}*`, ...lines, ...(path ? [`<${ORIGIN}${path}|Open in Countersign>`] : [])].map(text => ({
    type: 'section',
    text: { type: 'mrkdwn', text, verbatim: true },
  })),
  unfurl_links: false,
  unfurl_media: false,
})

const PROJECT = '*Project:* support'
const IN_TRACE = [PROJECT, '*Trace:* trace_1']

const CASES: readonly [SentType, JsonObject, ReturnType<typeof whole>][] = [
  [
    'span.reviewed',
    { ...ON_SPAN, decision: 'correct', state: 'corrected', errorType: 'wrong_value' },
    whole('Output of generate-answer corrected', ['*Error type:* wrong_value', ...IN_TRACE], AT_SPAN),
  ],
  [
    'span.reviewed',
    { ...ON_SPAN, decision: 'reset', state: null, errorType: null },
    whole('Review of generate-answer undone', IN_TRACE, AT_SPAN),
  ],
  ['span.disputed', ON_SPAN, whole('Reviewers disagree about an output of generate-answer', IN_TRACE, AT_SPAN)],
  [
    'feedback.created',
    { ...ON_SPAN, source: 'api', name: 'helpfulness', rating: 0.2 },
    whole('Feedback on generate-answer', ['*helpfulness:* 0.2', ...IN_TRACE], AT_SPAN),
  ],
  [
    'feedback.created',
    { ...TRACE, spanId: null, stepId: null, source: 'review', name: null, rating: 'negative' },
    whole('Comment on a trace', ['*Rating:* negative', ...IN_TRACE], '/traces/trace-uuid?project=support'),
  ],
  [
    'attribution.finished',
    { ...ON_SPAN, status: 'done', errorType: 'wrong_value', confidence: 0.724, failure: null },
    whole('Root cause found: wrong_value in generate-answer', ['*Confidence:* 72%', ...IN_TRACE], AT_SPAN),
  ],
  [
    'attribution.finished',
    { ...TRACE, spanId: null, stepId: null, status: 'failed', failure: 'The analysis failed' },
    whole(
      'Root cause analysis failed',
      ['*Reason:* The analysis failed', ...IN_TRACE],
      '/traces/trace-uuid?project=support',
    ),
  ],
  [
    'prompt.activated',
    { ...ON_PROMPT, versionNumber: 1, previousVersionNumber: null },
    whole('Version 1 of the generate-answer prompt is active', [PROJECT], '/prompts/prompt-uuid?project=support'),
  ],
  [
    'prompt.rolled_back',
    { ...ON_PROMPT, automatic: true, reason: 'Version 3 is worse' },
    whole(
      'The generate-answer prompt was rolled back from version 3 to 2',
      ['*By:* autoRollback', '*Reason:* Version 3 is worse', PROJECT],
      '/prompts/prompt-uuid?project=support',
    ),
  ],
  [
    'experiment.finished',
    {
      experimentId: 'experiment-uuid',
      stepId: 'generate-answer',
      state: 'finished',
      name: 'Shorter',
      endReason: null,
      report: { passRate: 0.75, counts: { passed: 3, failed: 1, unjudged: 2, error: 0 } },
      gate: { met: false },
    },
    whole(
      'Experiment on generate-answer finished',
      [
        '*Name:* Shorter',
        '*Pass rate:* 75%',
        '*Results:* 3 passed, 1 failed, 2 unjudged, 0 errors',
        '*Gate:* not met',
        PROJECT,
      ],
      '/experiments/experiment-uuid?project=support',
    ),
  ],
  [
    'problem.changed',
    {
      problemId: 'problem-uuid',
      stepId: 'generate-answer',
      errorType: 'wrong_value',
      docSlug: null,
      state: 'proven',
      previousState: 'fixing',
      changed: ['state'],
    },
    whole(
      'Problem in generate-answer: proven',
      ['*Error type:* wrong_value', '*Previous state:* fixing', '*Changed:* state', PROJECT],
      '/problems/problem-uuid?project=support',
    ),
  ],
  ['trace.deleted', TRACE, whole('Trace deleted', IN_TRACE)],
  ['webhook.test', {}, whole('Test message', [PROJECT])],
]

describe("Slack's form of an event", () => {
  it.for(CASES)('says what happened, with a link: %s %#', ([type, data, expected]) => {
    expect(message(type, data)).toEqual(expected)
  })

  it('shows values, and turns nothing in them into mentions, links, or previews', () => {
    const values = { input: { ask: '<!channel> & <https://evil.example>' }, output: '@here', approvedOutput: null }
    const { blocks } = message('span.reviewed', { ...ON_SPAN, stepId: '<@U1>', state: 'accepted', values })
    expect(JSON.stringify(blocks)).not.toMatch(/<[@!]|<https:\/\/evil/)
    expect(blocks).toMatchObject([
      { text: { text: '*Output of &lt;@U1&gt; accepted*' } },
      {},
      {},
      { text: { text: '*Input:* {"ask":"&lt;!channel&gt; &amp; &lt;https://evil.example&gt;"}' } },
      { text: { text: '*Output:* @here', verbatim: true } },
      {},
    ])
  })

  it.for(['x', '&', '𝒳', '\n'])("keeps each text within Slack's limit: %j", character => {
    const { blocks } = message('feedback.created', { ...ON_SPAN, values: { comment: character.repeat(20_000) } })
    for (const { text } of blocks as { text: { text: string } }[]) {
      expect(text.text.length).toBeLessThan(3000)
      expect(text.text.isWellFormed()).toBe(true)
    }
  })
})
