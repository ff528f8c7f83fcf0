import { Button, Group, Stack, Text, Title, UnstyledButton } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useId } from 'react'
import { call } from '../api/client.ts'
import type { Feedback, SpanOfTrace } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { KeyHint } from '../parts/key-hint.tsx'
import { LateSelect } from '../parts/late-select.tsx'
import type { Draft } from './drafts.ts'
import { type ErrorType, typesWithKeys } from './error-type-keys.ts'
import { FIELD } from './keys.ts'
import { reloadTrace } from './queries.ts'
import classes from './wrong.module.css'

interface ErrorTypeChoiceProps {
  errorTypes: readonly ErrorType[]
  chosen: string | null
  onChoose: (errorType: string | null) => void
  /** Whether the digit keys choose a type. Otherwise, only the list of all types is shown. */
  hasKeys?: boolean
}

/** Chooses what went wrong, with a key or from the list of all types. */
export const ErrorTypeChoice = ({ errorTypes, chosen, onChoose, hasKeys = true }: ErrorTypeChoiceProps) => (
  <Stack gap={4} component="section" aria-label="What went wrong?">
    <Text size="sm" fw={500}>
      What went wrong?
    </Text>
    {(hasKeys ? typesWithKeys(errorTypes) : []).map(({ errorType, name, rule }, index) => (
      <UnstyledButton
        key={errorType}
        className={classes.type}
        aria-pressed={chosen === errorType}
        title={rule}
        onClick={() => onChoose(chosen === errorType ? null : errorType)}
      >
        <KeyHint keys={[String(index + 1)]} /> {name}
      </UnstyledButton>
    ))}
    <LateSelect
      {...{ [FIELD]: 'type' }}
      aria-label="Error type"
      size="xs"
      placeholder="All error types"
      data={byCategory(errorTypes)}
      value={chosen}
      onChange={onChoose}
      searchable
      selectFirstOptionOnChange
      clearable
      clearButtonProps={{ 'aria-label': 'Clear error type' }}
      nothingFoundMessage="No matching error type"
    />
  </Stack>
)

/** The enabled error types, by category. */
function byCategory(errorTypes: readonly ErrorType[]) {
  const enabled = errorTypes.filter(({ isEnabled }) => isEnabled)
  return [...Map.groupBy(enabled, ({ category }) => category)].map(([group, types]) => ({
    group,
    items: types.map(({ errorType, name }) => ({ value: errorType, label: name })),
  }))
}

/** What a reviewer entered about a wrong output, as a comment. Undefined if they haven't entered anything. */
function commentFrom({ errorType, note }: Draft, errorTypes: readonly ErrorType[]): string | undefined {
  const name = errorTypes.find(each => each.errorType === errorType)?.name
  const said = [name, note.trim()].filter(part => part !== undefined && part !== '')
  return said.length === 0 ? undefined : said.join(': ')
}

interface WrongProps {
  span: SpanOfTrace
  draft: Draft
  errorTypes: readonly ErrorType[]
  /** Why the item can't be corrected now; undefined if it can. */
  disabledReason: string | undefined
  onCorrect: () => void
  onPosted: () => void
  onCancel: () => void
}

/** Shown after an output is marked as wrong. Reviewers can post what they entered as feedback, without a decision. */
export function Wrong({ span, draft, errorTypes, disabledReason, onCorrect, onPosted, onCancel }: WrongProps) {
  const content = commentFrom(draft, errorTypes)
  const whyId = useId()
  const posting = useMutation({
    mutationFn: (said: string) =>
      call<Feedback>(`/api/spans/${span.id}/feedback`, {
        method: 'POST',
        // The draft's ID, so that a retry can't post it twice.
        body: { content: said, rating: 'negative', id: draft.commentId },
      }),
    onSuccess: () => {
      onPosted()
      return reloadTrace(span.trace.id)
    },
  })
  return (
    <section aria-label="Wrong" className={classes.wrong}>
      <Title order={3}>You marked this output as wrong</Title>
      <Text size="xs" c="dimmed" mb="xs">
        Correct it to record a decision, or post negative feedback and leave the correction to someone else.
      </Text>
      <Group gap="xs">
        <Button size="compact-sm" disabled={disabledReason !== undefined} onClick={onCorrect}>
          Correct it
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={content === undefined}
          aria-describedby={content === undefined ? whyId : undefined}
          loading={posting.isPending}
          onClick={() => content !== undefined && posting.mutate(content)}
        >
          Post feedback
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onCancel}>
          Not wrong
        </Button>
      </Group>
      {content === undefined && (
        <Text size="xs" c="dimmed" mt="xs" id={whyId}>
          To post feedback, choose what went wrong or write a reason.
        </Text>
      )}
      {posting.error && (
        <FaultAlert error={posting.error} title="Couldn't post the feedback. Your text is still here." />
      )}
    </section>
  )
}
