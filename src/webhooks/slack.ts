import type { Json, JsonObject } from '../domain/json.ts'
import type { SentType } from '../domain/webhook.ts'
import { MAX_SLACK_TEXT_LENGTH } from '../limits.ts'
import type { Envelope } from './payload.ts'

/** How a message begins, by the event's type. */
const HEADLINES: Readonly<Record<SentType, string>> = {
  'span.reviewed': 'Output reviewed',
  'span.disputed': 'Reviewers disagree on an output',
  'trace.deleted': 'Trace deleted',
  'feedback.created': 'New feedback',
  'attribution.finished': 'Root cause analysis finished',
  'experiment.finished': 'Experiment finished',
  'prompt.activated': 'Prompt version activated',
  'prompt.rolled_back': 'Prompt rolled back',
  'webhook.test': 'Test message',
}

/** The fields of an event that a message shows, by their labels. */
const SHOWN: Readonly<Record<string, string>> = {
  projectSlug: 'Project',
  traceId: 'Trace',
  stepId: 'Step',
  decision: 'Decision',
  state: 'State',
  errorType: 'Error type',
}

/** An event as a message for a Slack incoming webhook, with a link into the app at `origin`. */
export function slackMessage({ type, data }: Envelope, origin: string): JsonObject {
  const headline = HEADLINES[type]
  const shown: JsonObject = { ...data, traceId: traceOf(data)?.traceId ?? null }
  const lines = Object.entries(SHOWN).flatMap(([field, label]) => {
    const text = textOf(shown[field])
    return text === undefined ? [] : [`*${label}:* ${escaped(text)}`]
  })
  const path = type === 'trace.deleted' ? undefined : pathOf(data)
  const link = path === undefined ? [] : [`<${origin}${path}|Open in Countersign>`]
  const parts = [`*${headline}*`, ...lines, ...link]
  // Slack shows the text in notifications, and the blocks in the channel. A section may have 3,000 characters.
  const blocks = parts.map(text => ({ type: 'section', text: { type: 'mrkdwn', text } }))
  return { text: [headline, textOf(data.stepId)].flatMap(text => (text ? escaped(text) : [])).join(': '), blocks }
}

/** The page that shows an event's subject. */
function pathOf({ spanId, projectSlug, ...data }: Envelope['data']): string | undefined {
  const inProject = typeof projectSlug === 'string' ? `?project=${encodeURIComponent(projectSlug)}` : ''
  const id = traceOf(data)?.id
  const traceId = typeof id === 'string' ? id : undefined
  const span = typeof spanId === 'string' ? `&span=${encodeURIComponent(spanId)}` : ''
  return traceId !== undefined && inProject !== ''
    ? `/traces/${encodeURIComponent(traceId)}${inProject}${span}`
    : undefined
}

const traceOf = ({ trace }: JsonObject): JsonObject | undefined =>
  trace !== null && typeof trace === 'object' && !Array.isArray(trace) ? trace : undefined

/** A value as text of a length that Slack accepts. */
function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= MAX_SLACK_TEXT_LENGTH) return text
  return `${text.slice(0, MAX_SLACK_TEXT_LENGTH).toWellFormed()}…`
}

/** Slack reads `<` as the beginning of a link or a mention, such as `<!channel>`. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
