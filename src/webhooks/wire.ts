import * as v from 'valibot'
import { DELIVERY_STATES, DISABLED_REASONS, EVENT_TYPES, TEST_EVENT, WEBHOOK_FORMATS } from '../domain/webhook.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { KEPT_ANSWER_BYTES, MAX_EVENT_VALUE_BYTES } from '../limits.ts'
import type { WebhookRecord } from '../store/webhooks/webhooks.ts'
import { type Sealed, unsealIfPossible } from './secrets.ts'

const EventType = v.picklist(EVENT_TYPES)
/** When each event is sent. */
const OCCASIONS: Readonly<Record<v.InferOutput<typeof EventType>, string>> = {
  'span.reviewed': 'an output is accepted or corrected, or a review is undone',
  'span.disputed': 'the reviewers of an output disagree',
  'feedback.created':
    "a pipeline sends feedback, or a reviewer comments on an output, with or without a decision (`source` is `review`). No event is sent for imported feedback, for changes to feedback, or for feedback that's deleted before its event is sent",
  'attribution.finished':
    "an engine names the root cause of a disagreement (`status` is `done`), or gives up (`failed`). The error type is the engine's; if a reviewer names a different one, `span.reviewed` says so",
  'prompt.activated':
    "a version of a prompt becomes active, such as a new prompt's first one or an earlier one, whether a person or the service activates it",
  'prompt.rolled_back':
    'a version that was active before replaces a newer one, or `autoRollback` reactivates the previous one. `automatic` says which of the two it was, and `reason` says why. `prompt.activated` is also sent',
  'experiment.finished':
    "an experiment ends: it has all its results, somebody finishes or cancels it (`state` is `cancelled`), or the model's run fails (`failed`). `report` has its figures, and `gate` says whether the version meets the gate, both as of the time when the event is sent. An experiment that fails because no results arrive doesn't send an event",
  'problem.changed':
    "somebody dismisses or assigns a problem, changes its note, or links a candidate; or its state changes on its own, which the service detects within a few minutes. `changed` lists what changed. A problem's first case doesn't send an event",
  'trace.deleted': "somebody deletes a trace. A trace that expires doesn't send an event",
}
export const Events = described(
  v.pipe(
    v.array(EventType),
    v.minLength(1, 'must name at least one event'),
    v.transform(events => EVENT_TYPES.filter(type => events.includes(type))),
  ),
  `The events to send. ${EVENT_TYPES.map(type => `\`${type}\`: ${OCCASIONS[type]}.`).join(' ')}`,
)
export const Format = described(
  v.picklist(WEBHOOK_FORMATS),
  'json: the event as JSON, signed according to Standard Webhooks. slack: a message for a Slack incoming webhook.',
)
export const IncludeValues = described(
  v.boolean(),
  `Whether events contain values: inputs, outputs, corrections, comments, and reasons, in \`values\`. They're read when an event is sent, so they may be newer than the event. Values over ${MAX_EVENT_VALUE_BYTES / 1024} KiB are left out, and \`omitted\` lists their names.`,
)
export const Webhook = v.object({
  id: Uuid,
  projectId: described(v.nullable(Uuid), 'Null if the webhook covers every project in the organization'),
  url: described(v.string(), "Empty if it can't be decrypted"),
  isReadable: described(
    v.boolean(),
    'Whether the URL and the secret can be decrypted. If not, they were encrypted with a different WEBHOOK_KEY, and nothing is sent. Restore that key, or set the URL (`PATCH`) and then replace the secret (`POST …/rotate-secret`).',
  ),
  events: v.array(EventType),
  format: Format,
  includeValues: IncludeValues,
  description: v.string(),
  enabled: v.boolean(),
  disabledAt: v.nullable(IsoTime),
  disabledReason: described(
    v.nullable(v.picklist(DISABLED_REASONS)),
    'manager: somebody disabled it. gone: the receiver returned 410. failing: every delivery failed for five days.',
  ),
  failingSince: described(
    v.nullable(IsoTime),
    "When the current run of failures began. Null if the last attempt succeeded, or if there hasn't been one.",
  ),
  previousSecretUntil: described(
    v.nullable(IsoTime),
    'When deliveries stop also being signed with the previous secret. Null if there is none.',
  ),
  createdAt: IsoTime,
  updatedAt: IsoTime,
})

export const WebhookWithSecret = v.object({
  ...Webhook.entries,
  secret: described(v.string(), 'The signing secret: `whsec_` followed by base64. No other response shows it.'),
})

/** A webhook as its managers see it. */
export async function toWebhook(key: CryptoKey, record: WebhookRecord, now: number) {
  return toWebhookWithUrl(record, await unsealIfPossible(key, record.id, record.sealed), now)
}

/** Like `toWebhook`, with a URL that's already decrypted, or undefined if it couldn't be decrypted. */
export const toWebhookWithUrl = (
  record: WebhookRecord,
  sealed: Pick<Sealed, 'url'> | undefined,
  now: number,
): v.InferOutput<typeof Webhook> => ({
  id: record.id,
  projectId: record.projectId,
  url: sealed?.url ?? '',
  isReadable: sealed !== undefined,
  events: [...record.events],
  format: record.format,
  includeValues: record.includesValues,
  description: record.description,
  enabled: record.isEnabled,
  disabledAt: timeOrNull(record.disabledAt),
  disabledReason: record.disabledReason,
  failingSince: timeOrNull(record.failingSince),
  previousSecretUntil: timeOrNull(
    record.oldSecretUntil !== null && record.oldSecretUntil > now ? record.oldSecretUntil : null,
  ),
  createdAt: isoTime(record.createdAt),
  updatedAt: isoTime(record.updatedAt),
})

export const timeOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : isoTime(milliseconds)

export const Delivery = v.object({
  id: described(Uuid, "The event's ID, which receivers get as `webhook-id`"),
  type: v.picklist([...EVENT_TYPES, TEST_EVENT]),
  at: described(IsoTime, 'When the event happened'),
  state: described(
    v.picklist(DELIVERY_STATES),
    'pending: not delivered yet. delivered: the receiver returned a 2xx status. failed: no attempt succeeded.',
  ),
  attempts: described(v.number(), 'The number of attempts since the last replay'),
  nextAttemptAt: described(v.nullable(IsoTime), 'When the next attempt is made, at the earliest'),
  request: v.object({
    body: described(
      v.looseObject({}),
      "The event, without values or an experiment's figures. Values and figures are read when the event is sent, and aren't kept.",
    ),
  }),
  attempt: described(
    v.nullable(
      v.object({
        at: IsoTime,
        durationMs: v.nullable(v.number()),
        status: described(v.nullable(v.number()), "The response's status. Null if there was no response."),
        error: described(v.nullable(v.string()), 'Why there was no response, or why the response counts as a failure'),
        answer: described(
          v.nullable(v.string()),
          `The first ${KEPT_ANSWER_BYTES} bytes of the response's body, if the attempt failed`,
        ),
      }),
    ),
    'The latest finished attempt. Null until the first attempt finishes.',
  ),
})
