import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { SchemaFault } from '../../domain/output-schema.ts'
import { recountDisputes } from '../api/disputes.ts'
import { errorTypesQuery } from '../api/error-types.ts'
import { queryClient } from '../api/query-client.ts'
import { useIsAdjudicator } from '../api/session.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { takesText } from '../parts/keys.ts'
import { usePostComment } from './comment-box.tsx'
import { decide, dismissTrouble } from './decide.ts'
import type { DecisionActions } from './decision-panel.tsx'
import type { Draft } from './drafts.ts'
import { typesWithKeys } from './error-type-keys.ts'
import { isSameValue, parsedJson, textOf } from './json-text.ts'
import { WRONG_UNCHANGED } from './marked-wrong.ts'
import { spanQuery } from './queries.ts'
import { type Decision, withSkipped } from './sitting.ts'
import { hideTrouble, showTrouble } from './trouble-notice.tsx'
import type { TroubleActions } from './trouble-panel.tsx'
import { useDesk, useDraft, useRefused, useSitting } from './use-desk.ts'
import { useSchema } from './use-schema.ts'
import { faultsOf, useOutputCheck } from './use-schema-faults.ts'
import { approvedBy, hasVoted, isVoting } from './vote-words.ts'

export interface ItemOptions {
  /** The whole span, or its preview until the whole one is loaded. */
  span: SpanOfTrace
  isWhole: boolean
  projectSlug: string
  /** Shows the next open item. */
  onAdvance: () => void
  /** Undoes a decision and shows its item. */
  onUndo: (spanId: string) => void
}

/** An item's state, and the actions on it. */
export function useItem({ span, isWhole, projectSlug, onAdvance, onUndo }: ItemOptions) {
  const { id, output, review } = span
  const desk = useDesk()
  const sitting = useSitting()
  const { draft, write, isKept } = useDraft(id, span.etag)
  const schema = useSchema(span, projectSlug)
  const check = useOutputCheck(schema)
  const { data: errorTypes } = useQuery(errorTypesQuery(projectSlug))
  const [blocked, setBlocked] = useState<{ id: string; request: Decision; faults: SchemaFault[] }>()
  const [takenOver, setTakenOver] = useState<string>()
  const trouble = sitting.troubles.get(id)
  const decided = sitting.decided.get(id)
  const isConflict = trouble?.fault.status === 412
  const isEditing = draft?.isEditing === true && isWhole && decided === undefined && !isConflict
  const isHeld = useHeldByAnother(span) && !hasVoted(span, desk.actorId) && takenOver !== id
  const text = draft?.text ?? textOf(review.state === 'corrected' ? span.approvedOutput : output)
  const outputFaults = useMemo(() => (isWhole ? faultsOf(check, output, 'output') : []), [check, output, isWhole])
  const editedFaults = useMemo(() => {
    const parsed = isEditing ? parsedJson(text) : undefined
    return parsed && 'value' in parsed ? faultsOf(check, parsed.value, 'approvedOutput') : []
  }, [check, text, isEditing])
  useEffect(() => {
    hideTrouble(id)
  }, [id])

  const disabledReason = disabledReasonFor(span, { isWhole, isConflict, isHeld })
  const canDecide = disabledReason === undefined && (decided?.isSaved ?? true)
  const isAdjudicator = useIsAdjudicator()
  const isAdjudicating = isAdjudicator && decided === undefined && isVoting(span)
  const submit = (request: Decision) => {
    setBlocked(undefined)
    // On the next item, letters must be shortcuts again.
    const field = document.activeElement
    if (field instanceof HTMLElement && takesText(field)) field.blur()
    decide(desk, span, request, showTrouble).then(saved => {
      if (!saved) return
      confirm(saved, desk.actorId)
      if (isAdjudicating) void recountDisputes()
    })
    onAdvance()
  }
  const consider = (value: SpanOfTrace['output'], errorType = draft?.errorType ?? null) => {
    const request = decisionOn(value, output, { note: draft?.note ?? '', errorType })
    const faults = request.decision === 'accept' ? outputFaults : faultsOf(check, value, 'approvedOutput')
    const decision = { ...request, ...(takenOver === id && { takeOver: true }) }
    if (faults.length > 0) setBlocked({ id, request: decision, faults })
    else submit(decision)
  }
  const save = () => {
    if (!canDecide) return
    const parsed = parsedJson(text)
    if ('fault' in parsed) refuse(`This isn't valid JSON yet: ${parsed.fault}`)
    else if (parsed.value === null) refuse("The approved output can't be null.")
    else if (draft?.isWrong === true && isSameValue(parsed.value, output)) refuse(WRONG_UNCHANGED)
    else consider(parsed.value)
  }
  const actions: DecisionActions = {
    accept: () => canDecide && consider(output),
    edit: () => canDecide && write({ isEditing: true }),
    wrong: () => {
      if (decided !== undefined) return
      write(draft?.isWrong ? { isWrong: false, errorType: null } : { isWrong: true })
    },
    chooseType: index => {
      const chosen = typesWithKeys(errorTypes?.errorTypes ?? [])[index]?.errorType
      if (chosen === undefined || decided !== undefined) return
      write({ isWrong: true, errorType: draft?.errorType === chosen ? null : chosen })
    },
    save,
    leave: () => {
      setBlocked(undefined)
      write({ isEditing: false })
    },
    skip: () => {
      desk.sitting.change(before => withSkipped(before, id))
      onAdvance()
    },
    takeVote: index => {
      const vote = span.votes[index]
      if (vote && canDecide) consider(approvedBy(vote, output), draft?.errorType ?? vote.errorType)
    },
    editVote: index => {
      const vote = span.votes[index]
      if (!vote || !canDecide) return
      write({ text: textOf(approvedBy(vote, output)), errorType: vote.errorType, isEditing: true })
    },
    undo: () => onUndo(id),
    discard: () => write({ text: null, errorType: null, isWrong: false, isEditing: false }),
  }
  const leaveAsWrong = () => {
    desk.drafts.remove(id)
    notifications.show({ message: 'Negative feedback posted', color: 'green', autoClose: 2_000 })
    actions.skip()
  }
  const continueWithout = () => dismissTrouble(desk, id)
  const troubleActions: TroubleActions = {
    onDecideAgain: continueWithout,
    onLeave: () => {
      desk.drafts.remove(id)
      actions.skip()
      continueWithout()
    },
    onForce: () => trouble && trouble.request !== 'reset' && submit({ ...trouble.request, force: true }),
    onTakeOver: () => {
      setTakenOver(id)
      if (trouble && trouble.request !== 'reset') submit({ ...trouble.request, takeOver: true })
      else continueWithout()
    },
    onRetry: () => (trouble && trouble.request !== 'reset' ? submit(trouble.request) : continueWithout()),
  }
  return {
    actions,
    /** Continues with the next item after negative feedback on this one. */
    leaveAsWrong,
    draft,
    write,
    isDraftKept: isKept,
    schema,
    text,
    outputFaults,
    editedFaults,
    errorTypes: errorTypes?.errorTypes ?? [],
    isEditing,
    isDecided: decided !== undefined,
    /** Whether the decision from this sitting is a vote. */
    isVote: isVoting(span) && hasVoted(span, desk.actorId),
    isAdjudicator,
    /** Whether this decision settles a vote among other reviewers. */
    isAdjudicating,
    isConflict,
    disabledReason,
    trouble,
    troubleActions,
    hold:
      isHeld && !trouble
        ? {
            heldBy: span.claim?.heldBy,
            reclaim: () => desk.claims.reclaim(id),
            takeOver: () => setTakenOver(id),
          }
        : null,
    blocked:
      blocked?.id === id
        ? {
            faults: blocked.faults,
            force: () => submit({ ...blocked.request, force: true }),
            goBack: () => {
              setBlocked(undefined)
              actions.edit()
            },
          }
        : null,
  }
}

/** The comment on an item. Its box opens on request, and stays open while it contains text. */
export function useComment(span: SpanOfTrace, draft: Draft | undefined, write: (change: Partial<Draft>) => void) {
  const [openedOn, setOpenedOn] = useState<string>()
  const field = useRef<HTMLTextAreaElement>(null)
  const posting = usePostComment(span, () => {
    write({ comment: '', commentId: crypto.randomUUID() })
    setOpenedOn(undefined)
  })
  return {
    field,
    posting,
    value: draft?.comment ?? '',
    isOpen: openedOn === span.id || (draft !== undefined && draft.comment !== ''),
    open: () => {
      setOpenedOn(span.id)
      field.current?.focus()
    },
    change: (comment: string) => write({ comment }),
    post: () => {
      if (draft && draft.comment.trim() !== '' && !posting.isPending) posting.mutate(draft)
    },
    close: () => {
      write({ comment: '' })
      setOpenedOn(undefined)
    },
  }
}

/** Confirms what was saved. Clicks pass through the message to the page below. */
function confirm(saved: SpanOfTrace, actorId: string): void {
  const isVote = saved.review.state === 'unreviewed' && hasVoted(saved, actorId)
  const id = 'decided'
  notifications.hide(id)
  notifications.show({
    id,
    message: `${isVote ? 'Vote saved' : saved.review.state === 'corrected' ? 'Corrected' : 'Accepted'}. Press U to undo.`,
    position: 'top-center',
    autoClose: 1_500,
    withCloseButton: false,
    style: { pointerEvents: 'none' },
  })
}

const refuse = (message: string): void => {
  notifications.show({ title: "Couldn't save", message, color: 'red' })
}

/** The decision that approves a value, with the draft's comment and error type. */
function decisionOn(
  value: SpanOfTrace['output'],
  output: SpanOfTrace['output'],
  { note, errorType }: Pick<Draft, 'note' | 'errorType'>,
): Decision {
  const isAccepted = isSameValue(value, output)
  return {
    ...(isAccepted ? { decision: 'accept' } : { decision: 'correct', approvedOutput: value }),
    ...(note.trim() !== '' && { comment: note.trim() }),
    ...(errorType !== null && !isAccepted && { errorType }),
  }
}

interface ItemStatus {
  isWhole: boolean
  isConflict: boolean
  isHeld: boolean
}

/** Why the reviewer can't decide on an item now; undefined if they can. */
function disabledReasonFor(
  { output, review }: SpanOfTrace,
  { isWhole, isConflict, isHeld }: ItemStatus,
): string | undefined {
  if (!isWhole) return 'Loading the full output…'
  if (isConflict) return 'This item has changed. Use the message next to the output to choose how to continue.'
  if (isHeld) return 'Take over this item, or press S to skip it.'
  return output === null && review.state === 'unreviewed' ? 'This span has no output to review.' : undefined
}

/**
 * Whether a refused claim means that someone else is reviewing the span. Claims on spans that need no review are also
 * refused.
 */
function useHeldByAnother({ id, output, review }: SpanOfTrace): boolean {
  const isRefused = useRefused().has(id)
  useEffect(() => {
    if (isRefused) queryClient.fetchQuery({ ...spanQuery(id), staleTime: 0 }).catch(() => undefined)
  }, [isRefused, id])
  return isRefused && output !== null && (review.state === 'unreviewed' || review.stale)
}
