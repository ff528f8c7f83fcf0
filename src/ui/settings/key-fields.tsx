import '@mantine/dates/styles.css'
import { Checkbox, NumberInput, Select, Stack, TextInput } from '@mantine/core'
import { DatePickerInput } from '@mantine/dates'
import { defaultActor } from '../../domain/api-key.ts'
import type { Session } from '../api/wire.ts'
import type { FieldFaults } from '../parts/field-faults.ts'
import { Warning } from '../parts/warning.tsx'
import { dayOf, endOfDay } from './days.ts'
import { useAllUsers } from './use-all.ts'
import type { Actor, KeyDraft, Scope } from './writes.ts'

interface KeyFieldsProps {
  session: Session
  draft: KeyDraft
  onChange: (part: Partial<KeyDraft>) => void
  faults: FieldFaults
}

const SCOPES: readonly { scope: Scope; description: string }[] = [
  { scope: 'ingest', description: 'For pipelines: send and search traces, send feedback, and request attribution' },
  { scope: 'read', description: 'Read traces, prompts, knowledge docs, and insights' },
  { scope: 'review', description: 'For reviewers: review outputs and comment. Requires read.' },
  { scope: 'manage', description: 'Change prompts, knowledge docs, and everything in Settings' },
]

export const ACTORS = {
  person: { label: 'A person', description: 'Decisions made with this key count as reviews.' },
  agent: {
    label: 'An agent',
    description: 'Decisions made with this key are only suggestions; a person makes the final decision.',
  },
  pipeline: { label: 'A pipeline', description: "This key can't be used for reviews." },
} as const

const isActor = (value: string | null): value is Actor => value !== null && value in ACTORS

const ALL = ''

/** A new key's project, user, and rights. */
export function KeyFields({ session, draft, onChange, faults }: KeyFieldsProps) {
  const users = useAllUsers()
  const actor = draft.actsAs ?? defaultActor(draft.scopes)
  const projects = session.projects.map(({ slug, name }) => ({ value: slug, label: name }))
  return (
    <>
      <Select
        label="Project"
        data={session.project ? projects : [{ value: ALL, label: 'All projects' }, ...projects]}
        disabled={session.project !== null}
        allowDeselect={false}
        searchable={projects.length > 8}
        value={draft.projectSlug ?? ALL}
        onChange={slug => onChange({ projectSlug: slug === ALL ? null : slug })}
        error={faults.of('projectSlug')}
      />
      <Select
        label="Acts for"
        description="Choose the reviewer who will use the key. Pipelines don't need a user."
        placeholder="No one"
        data={users.map(({ id, name, email }) => ({ value: id, label: name === '' ? email : `${name} (${email})` }))}
        searchable
        clearable
        nothingFoundMessage="No matching user. You can add users on the Users tab."
        value={draft.userId}
        onChange={userId => onChange({ userId })}
        error={faults.of('userId')}
      />
      <KeyRights session={session} draft={draft} onChange={onChange} faults={faults} />
      <Select
        label="Acts as"
        description={`${ACTORS[actor].description} You can't change this later.`}
        data={Object.entries(ACTORS).map(([value, { label }]) => ({
          value,
          label,
          disabled: value === 'person' && session.actsAs !== 'person',
        }))}
        allowDeselect={false}
        value={actor}
        onChange={value => isActor(value) && onChange({ actsAs: value })}
        error={faults.of('actsAs')}
      />
    </>
  )
}

/** The chosen scopes. Adding `review` also adds `read`, which the user can then remove. */
function chosenScopes(chosen: readonly string[], before: readonly Scope[], grantable: readonly Scope[]): Scope[] {
  const addsReview = chosen.includes('review') && !before.includes('review')
  return SCOPES.map(({ scope }) => scope).filter(
    scope => chosen.includes(scope) || (scope === 'read' && addsReview && grantable.includes('read')),
  )
}

type Rights = Pick<KeyDraft, 'name' | 'scopes' | 'expiresAt' | 'rateLimitPerMinute'>

/** The parts of a key that can change later: its name, scopes, expiry, and rate limit. */
export function KeyRights({
  session,
  draft,
  onChange,
  faults,
}: Pick<KeyFieldsProps, 'session' | 'faults'> & { draft: Rights; onChange: (part: Partial<Rights>) => void }) {
  return (
    <>
      <TextInput
        label="Name"
        description="What the key is for. Shown in lists and in the audit log."
        placeholder="Support pipeline"
        required
        data-autofocus
        autoComplete="off"
        value={draft.name}
        onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
        error={faults.of('name')}
      />
      <Checkbox.Group
        label="Scopes"
        withAsterisk
        value={draft.scopes}
        onChange={scopes => onChange({ scopes: chosenScopes(scopes, draft.scopes, session.scopes) })}
        error={faults.of('scopes')}
      >
        <Stack gap={6} mt={4}>
          {SCOPES.map(({ scope, description }) => (
            <Checkbox
              key={scope}
              value={scope}
              label={scope}
              description={session.scopes.includes(scope) ? description : "Your own key doesn't have this scope"}
              disabled={!session.scopes.includes(scope)}
            />
          ))}
          {draft.scopes.includes('review') && !draft.scopes.includes('read') && (
            <Warning title="Reviewers need the read scope">
              Without it, people who sign in with this key can't see any outputs to review.
            </Warning>
          )}
        </Stack>
      </Checkbox.Group>
      <DatePickerInput
        label="Expires on"
        placeholder="Never"
        clearable
        minDate={dayOf(new Date().toISOString())}
        value={draft.expiresAt === null ? null : dayOf(draft.expiresAt)}
        onChange={day => onChange({ expiresAt: day === null ? null : endOfDay(day) })}
        error={faults.of('expiresAt')}
      />
      <NumberInput
        label="Requests per minute"
        placeholder="Default"
        min={1}
        allowDecimal={false}
        allowNegative={false}
        value={draft.rateLimitPerMinute ?? ''}
        onChange={value => onChange({ rateLimitPerMinute: value === '' ? null : Number(value) })}
        error={faults.of('rateLimitPerMinute')}
      />
    </>
  )
}
