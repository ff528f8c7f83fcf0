import { Button, Group, Select, Stack, Text, Textarea, Title } from '@mantine/core'
import type { MouseEvent, ReactNode } from 'react'
import type { ErrorTypes } from '../api/wire.ts'
import {
  IconArrowBackUp,
  IconCheck,
  IconMessagePlus,
  IconPencil,
  IconPlayerSkipForward,
  IconX,
} from '../icons/index.ts'
import { Moment } from '../parts/moment.tsx'
import classes from './decision-panel.module.css'
import type { Draft } from './drafts.ts'
import { KeyHint } from './key-hint.tsx'

export interface DecisionActions {
  accept: () => void
  edit: () => void
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
  /** Why the item can't be decided now; undefined if it can. */
  hindrance: string | undefined
  /** Whether the decision on this span can be undone. */
  isDecided: boolean
  errorTypes: ErrorTypes['errorTypes']
  /** Warnings about this item. */
  children?: ReactNode
  /** The comment box. */
  comment: ReactNode
}

const MAX_NOTE_LENGTH = 16_384

/** The decision, its reason, and the buttons. */
export function DecisionPanel(props: DecisionPanelProps) {
  const {
    actions,
    draft,
    write,
    isDraftOld,
    isDraftKept,
    isEditing,
    hindrance,
    isDecided,
    errorTypes,
    children,
    comment,
  } = props
  const hasEdit = draft !== undefined && draft.text !== null
  return (
    <Stack gap="sm">
      <Group justify="space-between" mih={28}>
        <Title order={2}>Decision</Title>
      </Group>
      <Buttons {...props} />
      {hindrance !== undefined && (
        <Text size="sm" role="status">
          {hindrance}
        </Text>
      )}
      {isDecided && (
        <Button variant="default" leftSection={<IconArrowBackUp size={16} aria-hidden />} onClick={actions.undo}>
          Undo decision
        </Button>
      )}
      {children}
      {hasEdit && !isEditing && (
        <Text size="sm" className={classes.draft}>
          You have an unsaved draft from <Moment at={new Date(draft.at).toISOString()} />. Press <b>E</b> to continue.{' '}
          {isDraftOld && 'The output has changed since then. '}
          <Button size="compact-xs" variant="subtle" color="gray" onClick={actions.discard}>
            Discard draft
          </Button>
        </Text>
      )}
      <Textarea
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
      {(isEditing || hasEdit) && (
        <Select
          label="What went wrong"
          description="Choose an error type if one fits"
          placeholder="None"
          data={byCategory(errorTypes)}
          value={draft?.errorType ?? null}
          onChange={errorType => write({ errorType })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Clear error type' }}
          nothingFoundMessage="No matching error type"
        />
      )}
      {comment}
      {!isDraftKept && draft && (
        <Text size="xs" c="var(--corrected)">
          This browser can't keep drafts. If you reload the page, you lose what you wrote.
        </Text>
      )}
    </Stack>
  )
}

/** Ignores the second half of a double click, which would decide an item that nobody has seen. */
const once =
  (act: () => void) =>
  ({ detail }: MouseEvent): void => {
    if (detail < 2) act()
  }

const Buttons = ({
  actions,
  onComment,
  isEditing,
  hindrance,
}: Pick<DecisionPanelProps, 'actions' | 'onComment' | 'isEditing' | 'hindrance'>) => (
  <div className={classes.buttons}>
    {isEditing ? (
      <>
        <Button
          className={classes.wide}
          leftSection={<IconCheck size={16} aria-hidden />}
          rightSection={<KeyHint keys={['mod', 'Enter']} />}
          disabled={hindrance !== undefined}
          onClick={once(actions.save)}
        >
          Save
        </Button>
        <Button
          variant="default"
          leftSection={<IconX size={16} aria-hidden />}
          rightSection={<KeyHint keys={['Esc']} />}
          onClick={actions.leave}
        >
          Close
        </Button>
      </>
    ) : (
      <>
        <Button
          className={classes.wide}
          leftSection={<IconCheck size={16} aria-hidden />}
          rightSection={<KeyHint keys={['A']} />}
          disabled={hindrance !== undefined}
          onClick={once(actions.accept)}
        >
          Accept
        </Button>
        <Button
          variant="default"
          leftSection={<IconPencil size={16} aria-hidden />}
          rightSection={<KeyHint keys={['E']} />}
          disabled={hindrance !== undefined}
          onClick={actions.edit}
        >
          Edit
        </Button>
      </>
    )}
    <Button
      variant="default"
      leftSection={<IconPlayerSkipForward size={16} aria-hidden />}
      rightSection={<KeyHint keys={['S']} />}
      onClick={once(actions.skip)}
    >
      Skip
    </Button>
    <Button
      className={classes.wide}
      variant="default"
      leftSection={<IconMessagePlus size={16} aria-hidden />}
      rightSection={<KeyHint keys={['C']} />}
      onClick={onComment}
    >
      Comment
    </Button>
  </div>
)

/** The enabled error types, by category. */
function byCategory(errorTypes: ErrorTypes['errorTypes']) {
  const enabled = errorTypes.filter(({ isEnabled }) => isEnabled)
  return [...Map.groupBy(enabled, ({ category }) => category)].map(([group, types]) => ({
    group,
    items: types.map(({ errorType, name }) => ({ value: errorType, label: name })),
  }))
}
