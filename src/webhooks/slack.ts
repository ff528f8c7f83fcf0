import type { Json, JsonObject } from '../domain/json.ts'
import { isJsonObject } from '../domain/json.ts'
import type { SentType } from '../domain/webhook.ts'
import { MAX_SLACK_TEXT_LENGTH } from '../limits.ts'
import type { Envelope } from './payload.ts'

/** A message: its headline, and labeled lines below it. Lines without a value are left out. */
type Message = readonly [headline: string, ...lines: (readonly [label: string, value: Json | undefined])[]]

/** What a message says, by the event's type. */
const MESSAGES: Readonly<Record<SentType, (data: JsonObject) => Message>> = {
  'span.reviewed': ({ state, stepId, errorType }) => [
    state === null ? `Review of ${stepOf(stepId)} undone` : `Output of ${stepOf(stepId)} ${wordOf(state)}`,
    ['Error type', errorType],
  ],
  'span.disputed': ({ stepId }) => [`Reviewers disagree about an output of ${stepOf(stepId)}`],
  'feedback.created': ({ source, stepId, rating, name }) => [
    `${source === 'review' ? 'Comment' : 'Feedback'} on ${stepOf(stepId)}`,
    [name === null ? 'Rating' : wordOf(name), rating],
  ],
  'attribution.finished': ({ status, stepId, errorType, confidence, failure }) =>
    status === 'done'
      ? [
          `Root cause found: ${wordOf(errorType)}${stepId === null ? '' : ` in ${stepOf(stepId)}`}`,
          ['Confidence', percentOf(confidence)],
        ]
      : ['Root cause analysis failed', ['Reason', failure]],
  'prompt.activated': ({ stepId, versionNumber, previousVersionNumber }) => [
    `Version ${wordOf(versionNumber)} of the ${stepOf(stepId)} prompt is active`,
    ['Previous version', previousVersionNumber],
  ],
  'prompt.rolled_back': ({ stepId, versionNumber, previousVersionNumber, automatic, reason }) => [
    `The ${stepOf(stepId)} prompt was rolled back from version ${wordOf(previousVersionNumber)} to ${wordOf(versionNumber)}`,
    ['By', automatic === true ? 'autoRollback' : undefined],
    ['Reason', reason],
  ],
  'experiment.finished': ({ stepId, state, name, endReason, report, gate }) => [
    `Experiment on ${stepOf(stepId)} ${state === 'cancelled' ? 'canceled' : wordOf(state)}`,
    ['Name', name],
    ['Reason', endReason],
    ['Pass rate', isJsonObject(report) ? percentOf(report.passRate) : undefined],
    ['Results', isJsonObject(report) && isJsonObject(report.counts) ? countsOf(report.counts) : undefined],
    ['Gate', isJsonObject(gate) ? (gate.met === true ? 'met' : 'not met') : undefined],
  ],
  'problem.changed': ({ stepId, errorType, docSlug, state, previousState, changed }) => [
    `Problem in ${stepOf(stepId)}: ${state === previousState ? 'changed' : wordOf(state)}`,
    ['Error type', errorType],
    ['Knowledge doc', docSlug],
    ['Previous state', state === previousState ? undefined : previousState],
    ['Changed', Array.isArray(changed) ? changed.join(', ') : undefined],
  ],
  'trace.deleted': () => ['Trace deleted'],
  'webhook.test': () => ['Test message'],
}

/** The values of events that a message shows, by their labels. */
const VALUES: Readonly<Record<string, string>> = {
  input: 'Input',
  output: 'Output',
  approvedOutput: 'Approved output',
  comment: 'Comment',
  correction: 'Correction',
  reasoning: 'Reasoning',
}

/**
 * An event as a message for a Slack incoming webhook, with a link into the app at `origin`. Slack must not turn the
 * event's text into links or mentions, or fetch its URLs for previews, because anybody may have written the text.
 */
export function slackMessage({ type, data }: Envelope, origin: string): JsonObject {
  const [headline, ...own] = MESSAGES[type](data)
  const values = isJsonObject(data.values) ? data.values : {}
  const lines = [
    ...own,
    ['Project', data.projectSlug] as const,
    ['Trace', traceOf(data)?.traceId] as const,
    ...Object.entries(VALUES).map(([name, label]) => [label, values[name]] as const),
  ]
  const path = pathOf(type, data)
  const parts = [
    `*${shownText(headline)}*`,
    ...lines.flatMap(([label, value]) =>
      value === undefined || value === null ? [] : [`*${shownText(label)}:* ${shownText(value)}`],
    ),
    ...(path === undefined ? [] : [`<${origin}${path}|Open in Countersign>`]),
  ]
  // Slack shows the text in notifications, and the blocks in the channel.
  const blocks = parts.map(text => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }))
  return { text: shownText(headline), blocks, unfurl_links: false, unfurl_media: false }
}

/** The page that shows an event's subject. */
function pathOf(type: SentType, data: Envelope['data']): string | undefined {
  const { projectSlug, spanId, promptId, experimentId, problemId } = data
  if (projectSlug === null || type === 'trace.deleted') return undefined
  const pathTo = (page: string, id: string) =>
    `/${page}/${encodeURIComponent(id)}?project=${encodeURIComponent(projectSlug)}`
  const traceId = traceOf(data)?.id
  const span = typeof spanId === 'string' ? `&span=${encodeURIComponent(spanId)}` : ''
  if (typeof traceId === 'string') return `${pathTo('traces', traceId)}${span}`
  if (typeof promptId === 'string') return pathTo('prompts', promptId)
  if (typeof experimentId === 'string') return pathTo('experiments', experimentId)
  if (typeof problemId === 'string') return pathTo('problems', problemId)
  return undefined
}

const traceOf = ({ trace }: JsonObject): JsonObject | undefined => (isJsonObject(trace) ? trace : undefined)

const wordOf = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null))
const stepOf = (stepId: Json | undefined): string => (typeof stepId === 'string' ? stepId : 'a trace')
const percentOf = (share: Json | undefined) => (typeof share === 'number' ? `${Math.round(share * 100)}%` : undefined)

const countsOf = (counts: JsonObject): string =>
  [
    ...['passed', 'failed', 'unjudged'].map(name => `${wordOf(counts[name])} ${name}`),
    `${wordOf(counts.error)} ${counts.error === 1 ? 'error' : 'errors'}`,
  ].join(', ')

/** A value as text that Slack shows unchanged, cut to a length that Slack accepts. */
function shownText(value: Json): string {
  const text = wordOf(value)
  const whole = escaped(text)
  if (text.length <= MAX_SLACK_TEXT_LENGTH && whole.length <= MAX_ESCAPED_LENGTH) return whole
  const beginning = escaped(text.slice(0, MAX_SLACK_TEXT_LENGTH).toWellFormed())
  if (beginning.length <= MAX_ESCAPED_LENGTH) return `${beginning}…`
  return `${escaped(text.slice(0, MAX_ESCAPED_LENGTH / LONGEST_ESCAPE).toWellFormed())}…`
}

/** `&amp;` has five characters. Slack allows 3,000 in a section, and rejects messages with longer sections. */
const LONGEST_ESCAPE = 5
const MAX_ESCAPED_LENGTH = 2500

/** Slack treats `<` as the start of a link or a mention, such as `<!channel>`. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
