import { memo } from 'react'
import type { Span } from '../api/wire.ts'
import {
  IconAlertTriangle,
  IconCheck,
  IconChevronDown,
  IconChevronRight,
  IconHistory,
  IconMessage,
  IconPencil,
} from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { duration } from '../parts/format.ts'
import { kindOf } from './span-kind.ts'
import classes from './span-list.module.css'
import type { SpanRow } from './span-tree.ts'

interface SpanLineProps {
  row: SpanRow<Span>
  /** If the span shows the review of a step below it, that step. */
  reviewedAt: string | undefined
  /** The ID of the row's element. */
  id: string
  /** The row's index among the visible rows. */
  index: number
  isFolded: boolean
  isChosen: boolean
  /** Whether the row is the tree's active item. */
  isActive: boolean
  /** Whether the row is shown only because a descendant matches. */
  isAncestorOfMatch: boolean
  hasFeedback: boolean
  /** How long the whole trace took, in milliseconds. */
  length: number
}

export const LINE_HEIGHT = 28
const INDENT = 14
/** Deeper spans aren't indented further, so that their names stay readable. */
const MAX_INDENTS = 10

/** A span in the tree, with its bar in the timeline. The list handles clicks. */
export const SpanLine = memo(function SpanLine({
  row,
  reviewedAt,
  id,
  index,
  isFolded,
  isChosen,
  isActive,
  isAncestorOfMatch,
  hasFeedback,
  length,
}: SpanLineProps) {
  const { span, depth, childCount, place, siblings, isOrphan } = row
  const kind = kindOf(span)
  const { state, stale } = span.review
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has focus and names the active item
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-expanded={childCount > 0 ? !isFolded : undefined}
      aria-selected={isChosen}
      data-index={index}
      data-active={isActive || undefined}
      data-way={isAncestorOfMatch || undefined}
      className={classes.line}
      style={{ transform: `translateY(${index * LINE_HEIGHT}px)` }}
    >
      <div className={classes.step} style={{ paddingInlineStart: Math.min(depth, MAX_INDENTS) * INDENT }}>
        <span className={classes.fold} data-fold={childCount > 0 || undefined} aria-hidden>
          {childCount > 0 && (isFolded ? <IconChevronRight size={14} /> : <IconChevronDown size={14} />)}
        </span>
        {kind && <kind.Icon size={14} className={classes.kind} role="img" aria-label={kind.label} />}
        <span className={classes.name} dir="auto" title={span.stepId}>
          <ShownText text={span.stepId} />
        </span>
        {depth > MAX_INDENTS && <span className={classes.deep}>+{depth - MAX_INDENTS}</span>}
        {isOrphan && (
          <span className={classes.deep} title="The parent span hasn't arrived">
            no parent
          </span>
        )}
        <span className={classes.marks}>
          {span.status === 'error' && (
            <IconAlertTriangle size={14} className={classes.error} role="img" aria-label="Error" />
          )}
          {stale ? (
            <IconHistory size={14} role="img" aria-label="Output changed after review" />
          ) : (
            <ReviewMark state={state} reviewedAt={reviewedAt} />
          )}
          {hasFeedback && <IconMessage size={14} role="img" aria-label="Feedback" />}
        </span>
      </div>
      <div className={classes.bars}>
        <Bar row={row} length={length} />
      </div>
    </div>
  )
})

/** A root may show a step's review, which counts once. */
function ReviewMark({ state, reviewedAt }: Pick<Span['review'], 'state'> & Pick<SpanLineProps, 'reviewedAt'>) {
  if (state === 'unreviewed') return null
  const at = reviewedAt === undefined ? '' : `, reviewed in step ${reviewedAt}`
  return (
    <span
      className={classes.review}
      title={reviewedAt === undefined ? undefined : `Reviewed in step ${reviewedAt}. The review counts once.`}
    >
      {state === 'accepted' ? (
        <IconCheck size={14} className={classes.accepted} role="img" aria-label={`Accepted${at}`} />
      ) : (
        <IconPencil size={14} className={classes.corrected} role="img" aria-label={`Corrected${at}`} />
      )}
    </span>
  )
}

/** If a bar ends after this share of the timeline, there may be no room for its duration on the right. */
const LATE = 0.7

function Bar({ row: { span, start, end }, length }: Pick<SpanLineProps, 'row' | 'length'>) {
  const left = `${(start / length) * 100}%`
  const isLate = end / length > LATE && start / length > 1 - LATE
  const isLong = end / length > LATE && !isLate
  return (
    <>
      <span
        className={classes.bar}
        data-status={span.status ?? undefined}
        style={{ left, width: `${((end - start) / length) * 100}%` }}
      />
      {end > start && (
        <span
          className={classes.took}
          style={
            isLate
              ? { right: `calc(${100 - (start / length) * 100}% + 4px)` }
              : isLong
                ? { right: `${100 - (end / length) * 100}%` }
                : { left: `calc(${(end / length) * 100}% + 6px)` }
          }
          data-inside={isLong || undefined}
        >
          {duration(end - start)}
        </span>
      )}
    </>
  )
}
