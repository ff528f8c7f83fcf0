import { Button, Group, Stack, Text, Textarea, Title } from '@mantine/core'
import { lazy, type MouseEvent, type ReactNode, Suspense } from 'react'
import type { ErrorTypes } from '../api/wire.ts'
import {
  IconArrowBackUp,
  IconCheck,
  IconMessagePlus,
  IconPencil,
  IconPlayerSkipForward,
  IconThumbDown,
  IconX,
} from '../icons/index.ts'
import { KeyHint } from '../parts/key-hint.tsx'
import { Moment } from '../parts/moment.tsx'
import classes from './decision-panel.module.css'
import type { Draft } from './drafts.ts'
import { FIELD } from './keys.ts'

const ErrorTypeChoice = lazy(async () => ({ default: (await import('./wrong.tsx')).ErrorTypeChoice }))

export interface DecisionActions {
  accept: () => void
  edit: () => void
  /** Marks the output as wrong, or clears the mark. */
  wrong: () => void
  /** Chooses an error type by its position among those with a key. */
  chooseType: (index: number) => void
  /** Decides in favor of a reviewer's vote, by its position. */
  takeVote: (index: number) => void
  /** Opens the editor with the value that a vote approves. */
  editVote: (index: number) => void
  save: () => void
  leave: () => void
  skip: () => void
  undo: () => void
  discard: () => void
}

interface DecisionPanelProps {
  actions: DecisionActions
  onComment: () => void
  draft: Draft | undefined
  write: (change: Partial<Draft>) => void
  /** Whether the span has changed since the draft was started. */
  isDraftOld: boolean
  /** Whether drafts survive a reload in this browser. */
  isDraftKept: boolean
  isEditing: boolean
  /** Why the reviewer can't decide on the item now; undefined if they can. */
  disabledReason: string | undefined
  /** Whether the decision on this span can be undone. */
  isDecided: boolean
  /** Whether the decision is a vote, so that undoing it withdraws the vote. */
  isVote: boolean
  /** Whether the reader is an adjudicator deciding on other people's votes. */
  isAdjudicating: boolean
  errorTypes: ErrorTypes['errorTypes']
  /** Warnings about this item. */
  children?: ReactNode
  /** The comment box. */
  comment: ReactNode
}

const MAX_NOTE_LENGTH = 16_384

/** The decision, its reason, and the buttons. */
export function DecisionPanel(props: DecisionPanelProps) {
  const { actions, draft, write, isDraftOld, isDraftKept, isEditing, disabledReason, isDecided, isAdjudicating } = props
  const { errorTypes, children, comment } = props
  const hasEdit = draft !== undefined && draft.text !== null
  return (
    <Stack gap="sm">
      <Group justify="space-between" mih={28}>
        <Title order={2}>Decision</Title>
      </Group>
      <Buttons {...props} />
      {disabledReason !== undefined && (
        <Text size="sm" role="status">
          {disabledReason}
        </Text>
      )}
      {isDecided && (
        <Button variant="default" leftSection={<IconArrowBackUp size={16} aria-hidden />} onClick={actions.undo}>
          {props.isVote ? 'Withdraw vote' : 'Undo decision'}
        </Button>
      )}
      {children}
      {hasEdit && !isEditing && <UnsavedDraft at={draft.at} isOld={isDraftOld} onDiscard={actions.discard} />}
      <Textarea
        {...{ [FIELD]: 'reason' }}
        label="Reason"
        description="Saved with the decision"
        autosize
        minRows={2}
        maxRows={10}
        maxLength={MAX_NOTE_LENGTH}
        dir="auto"
        value={draft?.note ?? ''}
        onChange={({ currentTarget }) => write({ note: currentTarget.value })}
      />
      {(isEditing || hasEdit || draft?.isWrong === true || isAdjudicating) && (
        <Suspense>
          <ErrorTypeChoice
            hasKeys={!isAdjudicating}
            errorTypes={errorTypes}
            chosen={draft?.errorType ?? null}
            onChoose={errorType => write({ errorType, ...(errorType !== null && { isWrong: true }) })}
          />
        </Suspense>
      )}
      {comment}
      {!isDraftKept && draft && (
        <Text size="xs" c="var(--corrected)">
          This browser can't save drafts. If you reload the page, you'll lose your changes.
        </Text>
      )}
    </Stack>
  )
}

const UnsavedDraft = ({ at, isOld, onDiscard }: { at: number; isOld: boolean; onDiscard: () => void }) => (
  <Text size="sm" className={classes.draft}>
    You have an unsaved draft from <Moment at={new Date(at).toISOString()} />. Press <b>E</b> to continue.{' '}
    {isOld && 'The output has changed since then. '}
    <Button size="compact-xs" variant="subtle" color="gray" onClick={onDiscard}>
      Discard draft
    </Button>
  </Text>
)

/** Ignores the second click of a double click, which would decide an item that nobody has seen. */
const once =
  (act: () => void) =>
  ({ detail }: MouseEvent): void => {
    if (detail < 2) act()
  }

const Buttons = ({ actions, onComment, isEditing, isAdjudicating, disabledReason }: DecisionPanelProps) => {
  const disabled = disabledReason !== undefined
  return (
    <div className={classes.buttons}>
      {isEditing ? (
        <>
          <Act
            label="Save"
            Icon={IconCheck}
            keys={['mod', 'Enter']}
            isMain
            disabled={disabled}
            onClick={once(actions.save)}
          />
          <Act label="Close" Icon={IconX} keys={['Esc']} onClick={actions.leave} />
        </>
      ) : (
        <>
          <Act label="Accept" Icon={IconCheck} keys={['A']} isMain disabled={disabled} onClick={once(actions.accept)} />
          {!isAdjudicating && <Act label="Wrong" Icon={IconThumbDown} keys={['W']} onClick={actions.wrong} />}
          <Act label="Edit" Icon={IconPencil} keys={['E']} disabled={disabled} onClick={actions.edit} />
        </>
      )}
      <Act label="Skip" Icon={IconPlayerSkipForward} keys={['S']} onClick={once(actions.skip)} />
      <Act
        label="Comment"
        Icon={IconMessagePlus}
        keys={['C']}
        isWide={isEditing || isAdjudicating}
        onClick={onComment}
      />
    </div>
  )
}

interface ActProps {
  label: string
  Icon: typeof IconCheck
  /** Its keyboard shortcut. */
  keys: readonly string[]
  isMain?: boolean
  isWide?: boolean
  disabled?: boolean
  onClick: (event: MouseEvent) => void
}

const Act = ({ label, Icon, keys, isMain = false, isWide = isMain, disabled = false, onClick }: ActProps) => (
  <Button
    {...(isWide && { className: classes.wide })}
    variant={isMain ? 'filled' : 'default'}
    leftSection={<Icon size={16} aria-hidden />}
    rightSection={<KeyHint keys={keys} />}
    disabled={disabled}
    onClick={onClick}
  >
    {label}
  </Button>
)
