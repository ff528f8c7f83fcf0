import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'
import { takesText } from '../parts/keys.ts'
import { late } from '../parts/late.tsx'
import { handle } from '../parts/use-keys.ts'
import { CommentBox } from './comment-box.tsx'
import { ContextPanel } from './context-panel.tsx'
import { DecisionPanel } from './decision-panel.tsx'
import { suggestedDraft } from './drafts.ts'
import { Editor } from './editor.tsx'
import classes from './item.module.css'
import { FIELD, useInboxKeys } from './keys.ts'
import { OutputPanel } from './output-panel.tsx'
import { HeldWarning, SchemaAlert, TroublePanel } from './trouble-panel.tsx'
import { type ItemOptions, useComment, useItem } from './use-item.ts'

const None = () => null
const SpanSuggestions = late(async () => (await import('./span-suggestions.tsx')).SpanSuggestions, None)
const Votes = late(async () => (await import('./votes.tsx')).Votes, None)
const VotingNote = late(async () => (await import('./voting-note.tsx')).VotingNote, None)
const SpanFeedback = late(async () => (await import('./span-feedback.tsx')).SpanFeedback, None)
const Wrong = late(async () => (await import('./wrong.tsx')).Wrong, None)

/** One item under review: its context, its output, and the decision. */
export function Item(options: ItemOptions) {
  const { span, isWhole } = options
  const item = useItem(options)
  const { actions, draft, write, isEditing, isConflict, trouble, hold, blocked } = item
  const comment = useComment(span, draft, write)
  const columns = useRef<HTMLDivElement>(null)
  useScrollToTop(columns, span.id, draft?.isEditing ?? false)
  useItemKeys(columns, item, comment)
  const troublePanel = trouble && <TroublePanel trouble={trouble} span={span} actions={item.troubleActions} />
  return (
    <div className={classes.columns} data-wide={isEditing || item.isAdjudicating || undefined} ref={columns}>
      <section className={classes.column} aria-label="Context">
        <ContextPanel key={span.id} span={span} isWhole={isWhole} />
      </section>
      <section className={`${classes.column} ${classes.output}`} aria-label="Output">
        {isConflict && <div className={classes.conflict}>{troublePanel}</div>}
        {isEditing ? (
          <Editor
            key={span.id}
            output={span.output}
            text={item.text}
            onChange={text => write({ text })}
            schema={item.schema}
            faults={item.editedFaults}
            isWrong={draft?.isWrong === true}
          />
        ) : (
          <OutputPanel key={span.id} span={span} isWhole={isWhole} faults={item.outputFaults} />
        )}
        {isWhole && span.votes.length > 0 && (
          <Votes
            key={`votes on ${span.id}`}
            span={span}
            order={2}
            choice={
              item.isAdjudicating && !isEditing
                ? {
                    isEnabled: item.disabledReason === undefined,
                    take: actions.takeVote,
                    edit: actions.editVote,
                    focus: field => columns.current?.querySelector<HTMLElement>(`[${FIELD}="${field}"]`)?.focus(),
                  }
                : null
            }
          />
        )}
      </section>
      <section className={`${classes.column} ${classes.decision}`} aria-label="Decision">
        <DecisionPanel
          actions={actions}
          onComment={comment.open}
          draft={draft}
          write={write}
          isDraftOld={draft !== undefined && draft.etag !== span.etag}
          isDraftKept={item.isDraftKept}
          isEditing={isEditing}
          disabledReason={item.disabledReason}
          isDecided={item.isDecided}
          isVote={item.isVote}
          isAdjudicating={item.isAdjudicating}
          errorTypes={item.errorTypes}
          comment={
            comment.isOpen && (
              <CommentBox
                value={comment.value}
                onChange={comment.change}
                onPost={comment.post}
                onClose={comment.close}
                posting={comment.posting}
                field={comment.field}
              />
            )
          }
        >
          <VotingNote span={span} isAdjudicator={item.isAdjudicator} />
          {draft?.isWrong === true && !isEditing && !item.isDecided && (
            <Wrong
              span={span}
              draft={draft}
              errorTypes={item.errorTypes}
              disabledReason={item.disabledReason}
              onCorrect={actions.edit}
              onPosted={item.leaveAsWrong}
              onCancel={actions.wrong}
            />
          )}
          {hold && <HeldWarning heldBy={hold.heldBy} onRetry={hold.reclaim} onTakeOver={hold.takeOver} />}
          {!isConflict && troublePanel}
          {blocked && <SchemaAlert faults={blocked.faults} onForce={blocked.force} onBack={blocked.goBack} />}
        </DecisionPanel>
        <SpanSuggestions
          key={`suggestions of ${span.id}`}
          span={span}
          errorTypes={item.errorTypes}
          isUsable={item.disabledReason === undefined && !item.isDecided}
          onUse={suggestion => write(suggestedDraft(suggestion, draft))}
        />
        {/* Feedback loads last, so it's at the bottom, where it can't move anything. */}
        <SpanFeedback key={span.id} span={span} />
      </section>
    </div>
  )
}

function useItemKeys(
  columns: RefObject<HTMLDivElement | null>,
  { actions, draft, isEditing, isAdjudicating }: ReturnType<typeof useItem>,
  comment: ReturnType<typeof useComment>,
): void {
  useInboxKeys({
    accept: () => !isEditing && handle(actions.accept),
    wrong: () => !isEditing && !isAdjudicating && handle(actions.wrong),
    // For an adjudicator, digits choose votes.
    errorType: ({ key }) => !isAdjudicating && handle(() => actions.chooseType(Number(key) - 1)),
    edit: () => !isEditing && handle(actions.edit),
    save: ({ target }) => {
      const isInside = target instanceof Node && columns.current?.contains(target)
      if (!isInside && takesText(target)) return false
      if (target instanceof HTMLElement && target.dataset.comment !== undefined) return handle(comment.post)
      if (isEditing) return handle(actions.save)
      return handle(draft && draft.text !== null ? actions.edit : actions.accept)
    },
    skip: () => handle(actions.skip),
    comment: () => handle(comment.open),
    leave: ({ target }) => {
      // Escape closes the editor's search first.
      if (target instanceof Element && target.closest('.cm-panel')) return false
      const isOutside =
        target instanceof HTMLElement && target !== document.body && !target.closest(`.${classes.output}`)
      if (isOutside) return handle(() => target.blur())
      return isEditing && handle(actions.leave)
    },
  })
}

/** Scrolls each new item to its top and, if the columns are stacked, a newly opened editor into view. */
function useScrollToTop(columns: RefObject<HTMLDivElement | null>, spanId: string, isEditing: boolean): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: once per item
  useLayoutEffect(() => {
    for (const column of columns.current?.children ?? []) column.scrollTop = 0
    if (scrollY > 0) scrollTo(0, 0)
  }, [columns, spanId])
  useEffect(() => {
    const editor = columns.current?.children[1]
    if (isEditing && document.documentElement.scrollHeight > innerHeight) editor?.scrollIntoView({ block: 'start' })
  }, [columns, isEditing])
}
