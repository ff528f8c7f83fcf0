import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { SchemaFault } from '../../domain/output-schema.ts'
import { errorTypesQuery } from '../api/error-types.ts'
import { queryClient } from '../api/query-client.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { CommentBox, usePostComment } from './comment-box.tsx'
import { ContextPanel } from './context-panel.tsx'
import { decide, goOn } from './decide.ts'
import { type DecisionActions, DecisionPanel } from './decision-panel.tsx'
import type { Draft } from './drafts.ts'
import { Editor } from './editor.tsx'
import classes from './item.module.css'
import { isSameValue, parsedJson, textOf } from './json-text.ts'
import { takesText } from './keys.ts'
import { OutputPanel } from './output-panel.tsx'
import { spanQuery } from './queries.ts'
import { type Decision, withSkipped } from './sitting.ts'
import { SpanFeedback } from './span-feedback.tsx'
import { hideTrouble, showTrouble } from './trouble-notice.tsx'
import { HeldWarning, SchemaAlert, TroublePanel } from './trouble-panel.tsx'
import { useDesk, useDraft, useRefused, useSitting } from './use-desk.ts'
import { did, useKeys } from './use-keys.ts'
import { useSchema } from './use-schema.ts'
import { faultsOf, useOutputCheck } from './use-schema-faults.ts'

interface ItemProps {
  /** In full, or its preview until it is there. */
  span: SpanOfTrace
  /** Whether the values are those in full. */
  isWhole: boolean
  projectSlug: string
  /** Shows the next item that is to be decided. */
  onAdvance: () => void
  /** Undoes a decision, and shows its item. */
  onUndo: (spanId: string) => void
}

/** One span before the reviewer: what it came from, its output, and the decision. */
export function Item({ span, isWhole, projectSlug, onAdvance, onUndo }: ItemProps) {
  const { id, output, review } = span
  const desk = useDesk()
  const sitting = useSitting()
  const { draft, write, isKept } = useDraft(id, span.etag)
  const schema = useSchema(span, projectSlug)
  const check = useOutputCheck(schema)
  const { data: errorTypes } = useQuery(errorTypesQuery(projectSlug))
  const outputFaults = useMemo(() => (isWhole ? faultsOf(check, output, 'output') : []), [check, output, isWhole])
  const [blocked, setBlocked] = useState<{ id: string; request: Decision; faults: SchemaFault[] }>()
  const [commentingOn, setCommentingOn] = useState<string>()
  const columns = useRef<HTMLDivElement>(null)
  useShownFromTop(columns, id, isEditingOf(draft))
  const commentField = useRef<HTMLTextAreaElement>(null)
  const trouble = sitting.troubles.get(id)
  const decided = sitting.decided.get(id)
  const isConflict = trouble?.fault.status === 412
  const isEditing = draft?.isEditing === true && isWhole && decided === undefined && !isConflict
  const [takenOver, setTakenOver] = useState<string>()
  const isHeld = useHeldByAnother(span) && takenOver !== id
  const isCommenting = commentingOn === id || (draft !== undefined && draft.comment !== '')
  const text = draft?.text ?? textOf(review.state === 'corrected' ? span.approvedOutput : output)
  const editedFaults = useMemo(() => {
    const parsed = isEditing ? parsedJson(text) : undefined
    return parsed && 'value' in parsed ? faultsOf(check, parsed.value, 'approvedOutput') : []
  }, [check, text, isEditing])
  const posting = usePostComment(span, () => {
    write({ comment: '', commentId: crypto.randomUUID() })
    setCommentingOn(undefined)
  })
  useEffect(() => {
    hideTrouble(id)
  }, [id])

  const hindrance = !isWhole
    ? 'Loading the full output…'
    : isConflict
      ? 'It changed in the meantime. Choose how to continue next to the output.'
      : isHeld
        ? 'Take this item over, or press S to skip it.'
        : output === null && review.state === 'unreviewed'
          ? 'This span has no output to review.'
          : undefined
  const canDecide = hindrance === undefined && (decided?.isSaved ?? true)

  const submit = (request: Decision) => {
    setBlocked(undefined)
    // The next item's letters are keys again.
    const field = document.activeElement
    if (field instanceof HTMLElement && takesText(field)) field.blur()
    decide(desk, span, request, showTrouble)
    onAdvance()
  }
  const consider = (value: SpanOfTrace['output']) => {
    const isAccepted = isSameValue(value, output)
    const note = draft?.note.trim() ?? ''
    const errorType = draft?.errorType ?? null
    const request: Decision = {
      ...(isAccepted ? { decision: 'accept' } : { decision: 'correct', approvedOutput: value }),
      ...(note !== '' && { comment: note }),
      ...(errorType !== null && !isAccepted && { errorType }),
      ...(takenOver === id && { takeOver: true }),
    }
    const faults = isAccepted ? outputFaults : faultsOf(check, value, 'approvedOutput')
    if (faults.length > 0) setBlocked({ id, request, faults })
    else submit(request)
  }
  const save = () => {
    if (!canDecide) return
    const parsed = parsedJson(text)
    if ('fault' in parsed)
      notifications.show({ message: `Not saved: this isn't valid JSON yet. ${parsed.fault}`, color: 'red' })
    else if (parsed.value === null)
      notifications.show({ message: 'Not saved: null would mean unreviewed', color: 'red' })
    else consider(parsed.value)
  }
  const leave = () => {
    setBlocked(undefined)
    write({ isEditing: false })
  }
  const post = () => {
    if (draft && draft.comment.trim() !== '' && !posting.isPending) posting.mutate(draft)
  }
  const actions: DecisionActions = {
    accept: () => canDecide && consider(output),
    edit: () => canDecide && write({ isEditing: true }),
    save,
    leave,
    skip: () => {
      desk.sitting.change(before => withSkipped(before, id))
      onAdvance()
    },
    comment: () => {
      setCommentingOn(id)
      commentField.current?.focus()
    },
    undo: () => onUndo(id),
    discard: () => write({ text: null, errorType: null, isEditing: false }),
  }
  const blockedHere = blocked?.id === id ? blocked : undefined
  useKeys({
    accept: () => !isEditing && did(actions.accept),
    edit: () => !isEditing && did(actions.edit),
    save: ({ target }) => {
      const isInside = target instanceof Node && columns.current?.contains(target)
      if (!isInside && takesText(target)) return false
      if (target instanceof HTMLElement && target.dataset.comment !== undefined) return did(post)
      if (isEditing) return did(save)
      return did(draft && draft.text !== null ? actions.edit : actions.accept)
    },
    skip: () => did(actions.skip),
    comment: () => did(actions.comment),
    leave: ({ target }) => {
      // A search in the editor closes first.
      if (target instanceof Element && target.closest('.cm-panel')) return false
      const isOutside =
        target instanceof HTMLElement && target !== document.body && !target.closest(`.${classes.output}`)
      if (isOutside) return did(() => target.blur())
      return isEditing && did(leave)
    },
  })

  const troublePanel = trouble && (
    <TroublePanel
      trouble={trouble}
      span={span}
      onDecideAgain={() => goOn(desk, id)}
      onLeave={() => {
        desk.drafts.remove(id)
        actions.skip()
        goOn(desk, id)
      }}
      onForce={() => trouble.request !== 'reset' && submit({ ...trouble.request, force: true })}
      onTakeOver={() => {
        setTakenOver(id)
        if (trouble.request === 'reset') goOn(desk, id)
        else submit({ ...trouble.request, takeOver: true })
      }}
      onRetry={() => (trouble.request === 'reset' ? goOn(desk, id) : submit(trouble.request))}
    />
  )
  return (
    <div className={classes.columns} data-editing={isEditing || undefined} ref={columns}>
      <section className={classes.column} aria-label="Context">
        <ContextPanel key={id} span={span} isWhole={isWhole} />
      </section>
      <section className={`${classes.column} ${classes.output}`} aria-label="Output">
        {isConflict && <div className={classes.conflict}>{troublePanel}</div>}
        {isEditing ? (
          <Editor
            key={id}
            output={output}
            text={text}
            onChange={changed => write({ text: changed })}
            schema={schema}
            faults={editedFaults}
          />
        ) : (
          <OutputPanel key={id} span={span} isWhole={isWhole} faults={outputFaults} />
        )}
      </section>
      <section className={`${classes.column} ${classes.decision}`} aria-label="Decision">
        <DecisionPanel
          actions={actions}
          draft={draft}
          write={write}
          isDraftOld={draft !== undefined && draft.etag !== span.etag}
          isDraftKept={isKept}
          isEditing={isEditing}
          hindrance={hindrance}
          isDecided={decided !== undefined}
          errorTypes={errorTypes?.errorTypes ?? []}
          comment={
            isCommenting && (
              <CommentBox
                value={draft?.comment ?? ''}
                onChange={comment => write({ comment })}
                onPost={post}
                onClose={() => {
                  write({ comment: '' })
                  setCommentingOn(undefined)
                }}
                posting={posting}
                field={commentField}
              />
            )
          }
        >
          {isHeld && !trouble && (
            <HeldWarning onAskAgain={() => desk.claims.askAgain(id)} onTakeOver={() => setTakenOver(id)} />
          )}
          {!isConflict && troublePanel}
          {blockedHere && (
            <SchemaAlert
              message=""
              faults={blockedHere.faults}
              onForce={() => submit({ ...blockedHere.request, force: true })}
              onBack={() => {
                setBlocked(undefined)
                actions.edit()
              }}
            />
          )}
        </DecisionPanel>
        {/* It comes last and late: nothing may jump for it. */}
        <SpanFeedback key={id} span={span} />
      </section>
    </div>
  )
}

const isEditingOf = (draft: Draft | undefined): boolean => draft?.isEditing ?? false

/** Begins each item at its top and, where columns lie below one another, an editor at its own. */
function useShownFromTop(columns: RefObject<HTMLDivElement | null>, spanId: string, isEditing: boolean): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: of each item
  useLayoutEffect(() => {
    for (const column of columns.current?.children ?? []) column.scrollTop = 0
    if (scrollY > 0) scrollTo(0, 0)
  }, [columns, spanId])
  useEffect(() => {
    const editor = columns.current?.children[1]
    if (isEditing && document.documentElement.scrollHeight > innerHeight) editor?.scrollIntoView({ block: 'start' })
  }, [columns, isEditing])
}

/** Whether a refused claim means that somebody else has the span before them: what needs no review is refused, too. */
function useHeldByAnother({ id, output, review }: SpanOfTrace): boolean {
  const isRefused = useRefused().has(id)
  useEffect(() => {
    if (isRefused) queryClient.fetchQuery({ ...spanQuery(id), staleTime: 0 }).catch(() => undefined)
  }, [isRefused, id])
  return isRefused && output !== null && (review.state === 'unreviewed' || review.stale)
}
