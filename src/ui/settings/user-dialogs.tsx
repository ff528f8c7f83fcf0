import { Text, TextInput } from '@mantine/core'
import type { Users } from '../api/wire.ts'
import { IconPencil, IconTrash } from '../icons/index.ts'
import { AddTrigger, DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import type { FieldFaults } from '../parts/field-faults.ts'
import { changesIn } from './changes.ts'
import { createUser, deleteUser, refreshPeople, refreshUsers, updateUser } from './writes.ts'

type User = Users['users'][number]
type UserDraft = Pick<User, 'name' | 'email'>

const FIELDS = ['name', 'email'] as const

const trimmed = ({ name, email }: UserDraft): UserDraft => ({ name: name.trim(), email: email.trim() })

/** Adds a user. */
export const NewUser = () => (
  <DialogForm
    trigger={open => <AddTrigger label="Add user" onClick={open} />}
    title="Add a user"
    initial={{ name: '', email: '' }}
    fields={FIELDS}
    button={() => ({ act: 'Add user' })}
    send={draft => createUser(trimmed(draft))}
    onDone={() => void refreshUsers()}
    notice={({ name }) => `${name} added. To let them review, create a key that acts for them.`}
  >
    {(draft, change, faults) => <UserFields draft={draft} change={change} faults={faults} isNameRequired />}
  </DialogForm>
)

/** Changes a user's name and email. */
export function EditUser({ user }: { user: User }) {
  const label = `Edit ${user.name || user.email}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconPencil} onClick={open} />}
      title={label}
      initial={{ name: user.name, email: user.email }}
      fields={FIELDS}
      button={() => ({ act: 'Save' })}
      send={draft => updateUser(user.id, changesIn(user, trimmed(draft), FIELDS))}
      onDone={refreshPeople}
      notice={({ name, email }) => `Changes to ${name || email} saved.`}
    >
      {(draft, change, faults) => (
        <>
          <UserFields draft={draft} change={change} faults={faults} isNameRequired={user.name !== ''} />
          <Text size="sm" c="dimmed">
            This user keeps their keys, reviews, and comments. Later feedback from the old email belongs to a different
            user.
          </Text>
        </>
      )}
    </DialogForm>
  )
}

interface UserFieldsProps {
  draft: UserDraft
  change: (part: Partial<UserDraft>) => void
  faults: FieldFaults
  isNameRequired: boolean
}

const UserFields = ({ draft, change, faults, isNameRequired }: UserFieldsProps) => (
  <>
    <TextInput
      label="Name"
      required={isNameRequired}
      data-autofocus
      autoComplete="off"
      value={draft.name}
      onChange={({ currentTarget }) => change({ name: currentTarget.value })}
      error={faults.of('name')}
    />
    <TextInput
      label="Email"
      type="email"
      required
      autoComplete="off"
      value={draft.email}
      onChange={({ currentTarget }) => change({ email: currentTarget.value })}
      error={faults.of('email')}
    />
  </>
)

/** Deletes a user after explaining what is deleted and what is kept. */
export function DeleteUser({ user, isOwn }: { user: User; isOwn: boolean }) {
  const name = user.name || user.email
  const label = `Delete ${name}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconTrash} onClick={open} />}
      title={`${label}?`}
      initial={{}}
      button={() => ({ act: 'Delete user', isDestructive: true })}
      send={() => deleteUser(user.id)}
      onDone={refreshPeople}
      notice={() => `${name} deleted.`}
    >
      {() => (
        <>
          <Text size="sm">
            Keys that act for them stop working within 30 seconds. Their name and email are removed everywhere. Their
            reviews and comments stay, but under an anonymous ID. You can't undo this.
          </Text>
          {isOwn && (
            <Text size="sm" fw={600}>
              This is your own account. You'll be signed out.
            </Text>
          )}
        </>
      )}
    </DialogForm>
  )
}
