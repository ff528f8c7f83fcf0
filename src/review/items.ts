import { defaultSplit } from '../domain/dataset-split.ts'
import { datasetUuid } from '../domain/ids.ts'
import type { ReviewOutcome } from '../domain/review-state.ts'
import { inFormOf } from '../domain/shared-text.ts'
import type { Store } from '../store/core/store.ts'
import type { EntryDraft } from '../store/datasets/entries.ts'
import { type Freezable, type FrozenValues, freezeValues } from '../store/datasets/freeze.ts'
import type { ReviewSubject } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { placeUnder, type StoredValue } from '../store/traces/payloads.ts'

/** A decision as datasets see it. */
interface ItemReview {
  id: string
  /** Null removes the item from its dataset. */
  state: ReviewOutcome | null
  userId: string | null
  decidedAt: number
  errorType: string | null
  /** How many decisions the span had before this one. */
  numberBefore: number
}

/** A decision with the spans whose items it changes. */
export interface Decided {
  review: ItemReview
  subject: ReviewSubject
  /** The approved output, or null. */
  approved: StoredValue | null
  /** The approved output's JSON, if it's a correction. */
  correction: string | undefined
  /** The root that's reviewed with the span. */
  root: ReviewSubject | undefined
  /** Whether the root is still reviewed with the span after the decision. */
  isShared: boolean
}

/** An item that a decision changes. */
export interface Item {
  review: ItemReview
  /** The span that was decided on. */
  reviewedId: string
  subject: ReviewSubject
  /** Whether the item is in its dataset after the decision. */
  isIn: boolean
  /** The correct output, if it's already stored. Otherwise, `correction` has the JSON to store. */
  approved: StoredValue | null
  correction: { folder: number; json: string } | undefined
}

/**
 * The items that a decision changes: the span's and, if its root is reviewed with it, the root's, in the root's own
 * form. `outputs` has the JSON of both spans' outputs.
 */
export function itemsOf(decided: Decided, outputs: ReadonlyMap<FoldedSpan, string>): Item[] {
  const { review, subject, approved, root } = decided
  const reviewedId = subject.span.row.id
  const own = { review, reviewedId, subject, isIn: review.state !== null, approved, correction: undefined }
  return root ? [own, { ...own, subject: root, ...inRootForm(decided, root, outputs) }] : [own]
}

type ItemValue = Pick<Item, 'isIn' | 'approved' | 'correction'>

const NOT_IN: ItemValue = { isIn: false, approved: null, correction: undefined }

function inRootForm(
  { review, subject, correction, isShared }: Decided,
  root: ReviewSubject,
  outputs: ReadonlyMap<FoldedSpan, string>,
): ItemValue {
  const [from, to] = [outputs.get(subject.span), outputs.get(root.span)]
  if (!isShared || review.state === null || from === undefined || to === undefined) return NOT_IN
  if (review.state === 'accepted') {
    const { output } = root.span
    return { ...NOT_IN, isIn: true, approved: output?.ref ? output : { text: to, ref: null } }
  }
  const json = correction === undefined ? undefined : inFormOf(correction, { from, to })
  if (json === undefined) return NOT_IN
  return { ...NOT_IN, isIn: true, correction: { folder: root.span.row.traceKey, json } }
}

/** Builds each item's log entry. The entry is undefined if the span's values weren't read completely. */
export async function entriesOf(
  store: Store,
  items: readonly Item[],
  outputs: ReadonlyMap<FoldedSpan, string>,
): Promise<(EntryDraft | undefined)[]> {
  const corrections = await placeUnder(
    store,
    items.flatMap(({ correction }) => correction ?? []),
  )
  const freezables = items.map(({ subject: { span }, approved, correction }): Freezable | undefined => {
    const expected = (correction && corrections.get(correction)) ?? approved
    const output = outputs.get(span)
    return expected && output !== undefined ? { span, output, expected } : undefined
  })
  const frozen = await freezeValues(
    store,
    freezables.filter(freezable => freezable !== undefined),
  )
  return Promise.all(
    items.map(async (item, index) => {
      const freezable = freezables[index]
      const values = freezable && frozen.get(freezable)
      return item.isIn && !values ? undefined : entryOf(item, values)
    }),
  )
}

async function entryOf(
  { review, reviewedId, subject, isIn }: Item,
  values: FrozenValues | undefined,
): Promise<EntryDraft> {
  const { span, trace, item } = subject
  const inputHash = values?.inputHash ?? ''
  return {
    ...values,
    projectKey: trace.projectKey,
    stepId: item.stepId,
    traceKey: trace.key,
    itemId: span.row.id,
    datasetId: await datasetUuid(item.projectId, item.stepId),
    change: isIn ? 'decision' : 'reset',
    isDecision: true,
    isStale: false,
    split: defaultSplit({ group: item.group, inputHash }),
    decision: isIn ? (review.state === 'corrected' ? 'correct' : 'accept') : null,
    reviewId: review.id,
    reviewedId,
    numberBefore: review.numberBefore,
    userId: review.userId,
    decidedAt: review.decidedAt,
    errorType: review.errorType,
    promptVersionId: span.row.promptVersionId,
    inputHash,
    outputRevision: span.outputRevision,
  }
}
