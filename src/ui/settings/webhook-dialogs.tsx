import { Switch, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { Session, Webhook, WebhookWithSecret } from '../api/wire.ts'
import { IconPencil, IconRefresh, IconTrash } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { AddTrigger, DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { changesIn } from './changes.ts'
import { ProjectField, WebhookFields } from './webhook-fields.tsx'
import { hostOf } from './webhook-host.ts'
import {
  createWebhook,
  deleteWebhook,
  refreshWebhooks,
  rotateWebhookSecret,
  updateWebhook,
  type WebhookDraft,
} from './writes.ts'

interface NewWebhookProps {
  session: Session
  onMade: (webhook: WebhookWithSecret) => void
}

/** Creates a webhook. */
export const NewWebhook = ({ session, onMade }: NewWebhookProps) => (
  <DialogForm
    trigger={open => <AddTrigger label="New webhook" onClick={open} />}
    title="New webhook"
    initial={emptyWebhook(session)}
    fields={['projectSlug', ...CHANGEABLE]}
    button={({ events }) => ({ act: 'Create webhook', isDisabled: events.length === 0 })}
    send={draft => createWebhook({ ...draft, url: draft.url.trim() })}
    onDone={onMade}
  >
    {(draft, change, faults) => (
      <>
        <ProjectField
          session={session}
          value={draft.projectSlug}
          onChange={projectSlug => change({ projectSlug })}
          error={faults.of('projectSlug')}
        />
        <WebhookFields draft={draft} onChange={change} faults={faults} />
      </>
    )}
  </DialogForm>
)

const emptyWebhook = ({ project }: Session): WebhookDraft => ({
  id: crypto.randomUUID(),
  projectSlug: project?.slug ?? null,
  url: '',
  events: [],
  format: 'json',
  includeValues: false,
  description: '',
})

const CHANGEABLE = ['url', 'events', 'format', 'includeValues', 'description'] as const

/** Changes a webhook's URL, events, and other fields. */
export function EditWebhook({ webhook }: { webhook: Webhook }) {
  const label = `Edit ${hostOf(webhook)}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconPencil} onClick={open} />}
      title={label}
      initial={webhook}
      fields={CHANGEABLE}
      button={({ events }) => ({ act: 'Save', isDisabled: events.length === 0 })}
      send={draft => updateWebhook(webhook.id, changesIn(webhook, { ...draft, url: draft.url.trim() }, CHANGEABLE))}
      onDone={refreshWebhooks}
      notice={() => 'Changes saved. They take effect within 30 seconds.'}
    >
      {(draft, change, faults) => <WebhookFields draft={draft} onChange={change} faults={faults} />}
    </DialogForm>
  )
}

/** Enables or disables a webhook. */
export function WebhookSwitch({ webhook }: { webhook: Webhook }) {
  const host = hostOf(webhook)
  const { submit, isPending, variables } = useSubmission({
    send: (enabled: boolean) => updateWebhook(webhook.id, { enabled }),
    onDone: async ({ enabled }) => {
      await refreshWebhooks()
      const message = enabled
        ? `${host} will get events again within 30 seconds. Pending deliveries resume.`
        : `${host} won't get any more events. From now on, no events will be recorded for it.`
      notifications.show({ message })
    },
    onFault: ({ message }) => notifications.show({ color: 'red', title: `Couldn't change ${host}`, message }),
  })
  return (
    <Switch
      aria-label={`Send events to ${host}`}
      size="sm"
      checked={isPending ? variables : webhook.enabled}
      onChange={({ currentTarget }) => submit(currentTarget.checked)}
    />
  )
}

interface RotateSecretProps {
  webhook: Webhook
  onMade: (webhook: WebhookWithSecret) => void
}

/** Replaces a webhook's signing secret. */
export function RotateSecret({ webhook, onMade }: RotateSecretProps) {
  const host = hostOf(webhook)
  return (
    <DialogForm
      trigger={open => <IconTrigger label={`Replace the secret for ${host}`} Icon={IconRefresh} onClick={open} />}
      title={`Replace the secret for ${host}?`}
      initial={{}}
      button={() => ({ act: 'Create new secret' })}
      send={() => rotateWebhookSecret(webhook.id)}
      onDone={onMade}
    >
      {() => (
        <Text size="sm">
          For 24 hours, deliveries are signed with both secrets, so the receiver has time to switch over. After that,
          only the new one works.
          {webhook.previousSecretUntil !== null &&
            ' The older secret, which the current one replaced, stops working immediately.'}
        </Text>
      )}
    </DialogForm>
  )
}

/** Deletes a webhook and its deliveries. */
export function DeleteWebhook({ webhook, onDeleted }: { webhook: Webhook; onDeleted: () => unknown }) {
  const host = hostOf(webhook)
  return (
    <DialogForm
      trigger={open => <IconTrigger label={`Delete ${host}`} Icon={IconTrash} onClick={open} />}
      title={`Delete ${host}?`}
      initial={{}}
      button={() => ({ act: 'Delete webhook', isDestructive: true })}
      send={() => deleteWebhook(webhook.id)}
      onDone={onDeleted}
      notice={() => `Webhook ${host} deleted.`}
    >
      {() => (
        <Text size="sm">
          {webhook.description !== '' && (
            <>
              “<ShownText text={webhook.description} />
              ”:{' '}
            </>
          )}
          This webhook won't get any more events, and you'll no longer be able to view its deliveries. You can't undo
          this.
        </Text>
      )}
    </DialogForm>
  )
}
