import { Checkbox, Fieldset, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AssignmentResult } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { FormModal } from '../parts/form-modal.tsx'
import { count, counted } from '../parts/format.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { useAllUsers } from '../settings/use-all.ts'
import classes from './assign-dialog.module.css'
import { type Assigned, type AssignmentDraft, assign, assignmentPreview } from './writes.ts'

/** The maximum number of people in one call. */
const MAX_PEOPLE = 20
/** Longer lists have a search field. */
const SHORT_LIST = 8

interface AssignDialogProps {
  title: string
  spans: Assigned
  /** The person whose assignments are moved to others. */
  from?: { userId: string; name: string }
  onClose: () => void
  onDone?: () => void
}

/** Assigns spans to people, and previews how many each person gets. */
export function AssignDialog({ title, spans, from, onClose, onDone }: AssignDialogProps) {
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [due, setDue] = useState('')
  const [replace, setReplace] = useState(false)
  const draft: AssignmentDraft = {
    spans,
    userIds: chosen,
    fromUserId: from?.userId,
    replace,
    dueAt: due === '' ? undefined : endOf(due),
  }
  const { data: preview, error: fault, refetch } = useQuery(assignmentPreview(chosen.length > 0 ? draft : undefined))
  const { submit, isPending, error } = useSubmission({
    send: assign,
    onDone: ({ given, ended }) => {
      const people = chosen.length === 1 ? '1 person' : `${count(chosen.length)} people`
      const assigned = `${counted(given, 'output')} assigned to ${people}.`
      notifications.show({ message: ended > 0 ? `${assigned} ${counted(ended, 'assignment')} removed.` : assigned })
      onDone?.()
      onClose()
    },
  })
  const isChosen = chosen.length > 0
  return (
    <FormModal
      title={title}
      isOpen
      onClose={onClose}
      act={from ? 'Reassign' : 'Assign'}
      onSubmit={() => submit(draft)}
      isPending={isPending}
      error={error}
      isDisabled={!isChosen}
    >
      <People
        chosen={chosen}
        without={from?.userId}
        shares={isChosen ? preview?.assigned : undefined}
        onChange={setChosen}
      />
      <TextInput
        type="date"
        label="Due on"
        description={from ? 'Leave empty to keep the due dates.' : 'Optional. Due by the end of that day.'}
        value={due}
        onChange={event => setDue(event.currentTarget.value)}
        w={200}
      />
      {!from && (
        <Checkbox
          label="Include outputs that are assigned to other people"
          checked={replace}
          onChange={event => setReplace(event.currentTarget.checked)}
        />
      )}
      {fault && <FaultAlert error={fault} title="Couldn't preview the assignment" onRetry={refetch} />}
      <Text size="sm" c="dimmed" role="status" mih="1.5em">
        {isChosen ? preview && inWords(preview) : 'Choose who should review the outputs.'}
      </Text>
    </FormModal>
  )
}

interface PeopleProps {
  chosen: readonly string[]
  /** The ID of a person who isn't offered. */
  without: string | undefined
  shares: AssignmentResult['assigned'] | undefined
  onChange: (userIds: readonly string[]) => void
}

/** The people to choose from, with their shares. */
function People({ chosen, without, shares, onChange }: PeopleProps) {
  const [sought, setSought] = useState('')
  const users = useAllUsers().filter(({ id, isConfirmed }) => isConfirmed && id !== without)
  const shown = users.filter(
    ({ id, name, email }) =>
      chosen.includes(id) || `${name} ${email}`.toLocaleLowerCase().includes(sought.toLocaleLowerCase()),
  )
  const toggle = (id: string) => onChange(chosen.includes(id) ? chosen.filter(each => each !== id) : [...chosen, id])
  return (
    <Fieldset legend="People" variant="unstyled">
      {users.length > SHORT_LIST && (
        <TextInput
          aria-label="Search people"
          placeholder="Search people"
          size="xs"
          mb="xs"
          value={sought}
          onChange={event => setSought(event.currentTarget.value)}
        />
      )}
      <div className={classes.people}>
        {shown.map(({ id, name, email }) => {
          const share = shares?.find(({ userId }) => userId === id)?.spans
          return (
            <div key={id} className={classes.person}>
              <Checkbox
                size="xs"
                label={<ShownText text={name || email} />}
                checked={chosen.includes(id)}
                disabled={chosen.length === MAX_PEOPLE && !chosen.includes(id)}
                onChange={() => toggle(id)}
              />
              {share !== undefined && chosen.includes(id) && (
                <Text span size="sm" className={classes.share}>
                  +{count(share)}
                </Text>
              )}
            </div>
          )
        })}
      </div>
      {shown.length === 0 && (
        <Text size="sm" c="dimmed">
          No one by that name
        </Text>
      )}
    </Fieldset>
  )
}

/** The end of a day in the reader's time zone. */
const endOf = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString()

/** What the calls would do, in words. */
function inWords({
  assigned,
  unchanged,
  ended,
  changedDueDates,
  short,
  refused,
  nextCursor,
}: AssignmentResult): string {
  const given = assigned.reduce((sum, { spans }) => sum + spans, 0)
  return [
    `${nextCursor === null ? '' : 'At least '}${counted(given, 'output')} to assign.`,
    unchanged > 0 && `${counted(unchanged, 'output')} already assigned.`,
    changedDueDates > 0 && `${counted(changedDueDates, 'due date')} to change.`,
    ended > 0 && `${counted(ended, 'assignment')} to remove.`,
    refused.length > 0 &&
      `${counted(refused.length, 'output')} ${refused.length === 1 ? "doesn't" : "don't"} need review.`,
    short > 0 &&
      `${counted(short, 'output')} can't be assigned, because these people already have the maximum number of open assignments.`,
  ]
    .filter(Boolean)
    .join(' ')
}
