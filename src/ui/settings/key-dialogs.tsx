import { Select, Text } from '@mantine/core'
import { changeSession } from '../api/query-client.ts'
import { signOut } from '../api/session.ts'
import type { NewApiKey, Session } from '../api/wire.ts'
import { IconBan, IconPencil, IconRefresh } from '../icons/index.ts'
import { AddTrigger, DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import { changesIn } from './changes.ts'
import { KeyFields, KeyRights } from './key-fields.tsx'
import type { ApiKey } from './key-state.ts'
import { changeKey, createKey, type KeyDraft, refreshKeys, revokeKey, rotateKey } from './writes.ts'

/** Creates an API key. */
export const NewKey = ({ session, onMade }: { session: Session; onMade: (apiKey: NewApiKey) => void }) => (
  <DialogForm
    trigger={open => <AddTrigger label="New key" onClick={open} />}
    title="New API key"
    initial={emptyKey(session)}
    fields={['name', 'projectSlug', 'scopes', 'actsAs', 'userId', 'expiresAt', 'rateLimitPerMinute']}
    button={({ scopes }) => ({ act: 'Create key', isDisabled: scopes.length === 0 })}
    send={draft => createKey({ ...draft, name: draft.name.trim() })}
    onDone={onMade}
  >
    {(draft, change, faults) => <KeyFields session={session} draft={draft} onChange={change} faults={faults} />}
  </DialogForm>
)

const emptyKey = ({ project }: Session): KeyDraft => ({
  name: '',
  projectSlug: project?.slug ?? null,
  scopes: [],
  actsAs: null,
  userId: null,
  expiresAt: null,
  rateLimitPerMinute: null,
})

const EDITED = ['name', 'scopes', 'expiresAt', 'rateLimitPerMinute'] as const

/** Changes a key's name and rights. */
export function EditKey({ apiKey, session }: { apiKey: ApiKey; session: Session }) {
  const label = `Edit ${apiKey.name}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconPencil} onClick={open} />}
      title={label}
      initial={apiKey}
      fields={EDITED}
      button={({ scopes }) => ({ act: 'Save', isDisabled: scopes.length === 0 })}
      send={draft => changeKey(apiKey.id, changesIn(apiKey, { ...draft, name: draft.name.trim() }, EDITED))}
      onDone={refreshKeys}
      notice={({ name }) => `Changes to ${name} saved. They apply everywhere within 30 seconds.`}
    >
      {(draft, change, faults) => <KeyRights session={session} draft={draft} onChange={change} faults={faults} />}
    </DialogForm>
  )
}

const HOUR = 3_600
const GRACES = [
  { value: '0', label: 'Stops immediately' },
  { value: String(HOUR), label: 'Works for another hour' },
  { value: String(24 * HOUR), label: 'Works for another day' },
  { value: String(7 * 24 * HOUR), label: 'Works for another 7 days' },
  { value: String(30 * 24 * HOUR), label: 'Works for another 30 days' },
]

interface RotateKeyProps {
  apiKey: ApiKey
  /** Whether this session uses the key. */
  isOwn: boolean
  onMade: (successor: NewApiKey) => void
}

/** Replaces a key with a new one that has the same rights. */
export function RotateKey({ apiKey, isOwn, onMade }: RotateKeyProps) {
  const label = `Replace ${apiKey.name}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconRefresh} onClick={open} />}
      title={`${label}?`}
      initial={{ grace: String(24 * HOUR) }}
      fields={['graceSeconds']}
      button={() => ({ act: 'Create new key' })}
      send={({ grace }) => rotateKey(apiKey.id, Number(grace))}
      onDone={onMade}
    >
      {({ grace }, change, faults) => (
        <>
          <Text size="sm">
            This creates a key with the same name, project, scopes, user, limit, and expiry. Switch to it everywhere
            before the old key stops working.
          </Text>
          <Select
            label={`The old key, ${apiKey.prefix}…`}
            description={
              isOwn
                ? "You're signed in with this key. If it stopped working now, you couldn't copy the new one."
                : undefined
            }
            data={isOwn ? GRACES.slice(1) : GRACES}
            allowDeselect={false}
            value={grace}
            onChange={value => value !== null && change({ grace: value })}
            error={faults.of('graceSeconds')}
          />
        </>
      )}
    </DialogForm>
  )
}

/** Revokes a key after explaining the consequences. */
export function RevokeKey({ apiKey, isOwn }: { apiKey: ApiKey; isOwn: boolean }) {
  const label = `Revoke ${apiKey.name}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconBan} onClick={open} />}
      title={`${label}?`}
      initial={{}}
      button={() => ({ act: 'Revoke key', isDestructive: true })}
      send={() => revokeKey(apiKey.id)}
      onDone={async () => {
        await (isOwn ? signOut() : refreshKeys())
        if (isOwn) changeSession(null)
      }}
      notice={() => `Key ${apiKey.name} revoked.`}
    >
      {() => (
        <>
          <Text size="sm">
            The key {apiKey.prefix}… stops working everywhere within 30 seconds, and anyone signed in with it is signed
            out. Everything created with it is kept, and the key stays in this list. You can't undo this.
          </Text>
          {isOwn && (
            <Text size="sm" fw={600}>
              You're signed in with this key. You'll be signed out.
            </Text>
          )}
        </>
      )}
    </DialogForm>
  )
}
