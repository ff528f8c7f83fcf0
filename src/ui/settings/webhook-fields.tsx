import { Checkbox, Radio, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { EVENT_TYPES, type EventType, WEBHOOK_FORMATS } from '../../domain/webhook.ts'
import type { Session, Webhook } from '../api/wire.ts'
import type { FieldFaults } from '../parts/field-faults.ts'
import type { WebhookDraft } from './writes.ts'

/** What each event means. */
const EVENTS: Readonly<Record<EventType, string>> = {
  'span.reviewed': 'Somebody accepted or corrected an output, or undid a review',
  'span.disputed': 'Reviewers disagree about an output',
  'feedback.created': 'A pipeline sent feedback, or a reviewer commented on an output',
  'attribution.finished': 'An engine found the root cause of a wrong output, or gave up',
  'prompt.activated': 'A prompt version became active',
  'prompt.rolled_back': 'A prompt went back to a version that was active before',
  'experiment.finished': 'An experiment has all its results, or ended early',
  'problem.changed': 'A problem moved closer to a fix, came back, or was assigned or dismissed',
  'trace.deleted': 'Somebody deleted a trace',
}

export const FORMATS: Readonly<Record<Webhook['format'], { label: string; description: string }>> = {
  json: { label: 'JSON', description: 'Signed according to Standard Webhooks, for your own service' },
  slack: { label: 'Slack', description: 'A message for a Slack incoming webhook' },
}

const ALL = ''

interface ProjectFieldProps {
  session: Session
  value: string | null
  onChange: (projectSlug: string | null) => void
  error: string | undefined
}

/** The project whose events a new webhook sends. */
export function ProjectField({ session, value, onChange, error }: ProjectFieldProps) {
  const projects = session.projects.map(({ slug, name }) => ({ value: slug, label: name }))
  return (
    <Select
      label="Project"
      description="The project to send events from. You can't change this later."
      data={session.project ? projects : [{ value: ALL, label: 'All projects' }, ...projects]}
      disabled={session.project !== null}
      allowDeselect={false}
      searchable={projects.length > 8}
      value={value ?? ALL}
      onChange={slug => onChange(slug === ALL ? null : slug)}
      error={error}
    />
  )
}

type Changeable = Omit<WebhookDraft, 'id' | 'projectSlug'>

interface WebhookFieldsProps {
  draft: Changeable
  onChange: (part: Partial<Changeable>) => void
  faults: FieldFaults
}

/** The parts of a webhook that can change later. */
export const WebhookFields = ({ draft, onChange, faults }: WebhookFieldsProps) => (
  <>
    <TextInput
      label="URL"
      description="Where to send events. Must begin with https:// and have a public host name."
      placeholder="https://hooks.example.com/countersign"
      required
      data-autofocus
      autoComplete="off"
      spellCheck={false}
      inputMode="url"
      value={draft.url}
      onChange={({ currentTarget }) => onChange({ url: currentTarget.value })}
      error={faults.of('url')}
    />
    <Checkbox.Group
      label="Events"
      withAsterisk
      value={draft.events}
      onChange={chosen => onChange({ events: EVENT_TYPES.filter(type => chosen.includes(type)) })}
      error={faults.of('events')}
    >
      <Stack gap={6} mt={4}>
        {EVENT_TYPES.map(type => (
          <Checkbox key={type} value={type} label={type} description={EVENTS[type]} />
        ))}
      </Stack>
    </Checkbox.Group>
    <Radio.Group
      label="Format"
      value={draft.format}
      onChange={chosen => {
        const format = WEBHOOK_FORMATS.find(each => each === chosen)
        if (format) onChange({ format })
      }}
      error={faults.of('format')}
    >
      <Stack gap={6} mt={4}>
        {WEBHOOK_FORMATS.map(format => (
          <Radio key={format} value={format} {...FORMATS[format]} />
        ))}
      </Stack>
    </Radio.Group>
    <Checkbox
      label="Include values"
      description="Sends inputs, outputs, corrections, comments, and reasons. The receiver may keep them after you delete a trace."
      checked={draft.includeValues}
      onChange={({ currentTarget }) => onChange({ includeValues: currentTarget.checked })}
      error={faults.of('includeValues')}
    />
    <Textarea
      label="Description"
      description="What the receiver does with events."
      autosize
      minRows={2}
      maxRows={6}
      value={draft.description}
      onChange={({ currentTarget }) => onChange({ description: currentTarget.value })}
      error={faults.of('description')}
    />
  </>
)
