import { defaultSplit } from '../domain/dataset-split.ts'
import { SETTLED_SPANS } from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import { findItems, holdDueItems, type LastEntry, settleDueItems } from '../store/datasets/due.ts'
import { appendEntries, type EntryDraft, unchangedEntry } from '../store/datasets/entries.ts'
import { findReviewSubjects, type ReviewSubject } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { fetchOutputs } from '../store/spans/whole-outputs.ts'
import { fetchValues } from '../store/traces/payloads.ts'
import { type Decided, entriesOf, itemsOf } from './items.ts'

/**
 * Brings a trace's dataset items up to date with its spans and their decisions: adds items that are missing, marks
 * those whose output has changed, and removes those without a decision. Running it twice changes nothing.
 */
export async function settleItems(store: Store, traceKey: number, now: number): Promise<void> {
  const heldUntil = await holdDueItems(store, traceKey, now)
  const found = heldUntil === undefined ? undefined : await findItems(store, traceKey)
  if (heldUntil === undefined || !found) return
  const { rootSpanId, reviewedIds, entries } = found
  const left = new Map(entries.map(entry => [placeOf(entry), entry]))
  const inForce = new Set<string>()
  for (let start = 0; start < reviewedIds.length; start += SETTLED_SPANS) {
    const ids = reviewedIds.slice(start, start + SETTLED_SPANS)
    const { subjects } = await findReviewSubjects(store, [...new Set([rootSpanId, ...ids])], [], now)
    const decided = ids.flatMap(id => decidedOf(subjects.get(id), subjects.get(rootSpanId)))
    for (const { review } of decided) inForce.add(review.id)
    await appendEntries(store, await changesTo(store, decided, left), now)
  }
  await appendEntries(store, endsOf([...left.values()], inForce, now), now)
  await settleDueItems(store, traceKey, heldUntil)
}

const placeOf = ({ stepId, itemId }: { stepId: string; itemId: string }) => JSON.stringify([stepId, itemId])

/** A reviewed span's decision, and the root that shows it. */
function decidedOf(subject: ReviewSubject | undefined, root: ReviewSubject | undefined): Decided[] {
  const decision = subject?.span.decision
  if (!subject || !decision?.state) return []
  const { id, state, userId, createdAt, errorType, number } = decision
  const isRootShared = root?.shared?.spanId === subject.span.row.id
  return [
    {
      review: { id, state, userId, decidedAt: createdAt, errorType, numberBefore: number - 1 },
      subject,
      approved: subject.span.approved ?? null,
      correction: undefined,
      root: isRootShared ? root : undefined,
      isShared: true,
    },
  ]
}

/** The entries that are missing for these decisions. Removes the decisions' items from `left`. */
async function changesTo(
  store: Store,
  decisions: readonly Decided[],
  left: Map<string, LastEntry>,
): Promise<EntryDraft[]> {
  const drafts: EntryDraft[] = []
  const missing = new Map<Decided, Set<ReviewSubject>>()
  const known = new Map<ReviewSubject, LastEntry>()
  for (const decided of decisions) {
    const { review, subject: reviewed, root } = decided
    for (const subject of root ? [reviewed, root] : [reviewed]) {
      const place = placeOf({ stepId: subject.item.stepId, itemId: subject.span.row.id })
      const entry = left.get(place)
      left.delete(place)
      if (entry) known.set(subject, entry)
      if (entry?.isIn && entry.reviewId === review.id) {
        drafts.push(...updatesOf(entry, subject, isStale(reviewed, subject, entry)))
      } else missing.set(decided, (missing.get(decided) ?? new Set()).add(subject))
    }
  }
  const outputs = await fetchOutputs(store, spansOf([...missing.keys()]))
  const corrections = await correctionsOf(store, [...missing.keys()])
  const items = [...missing].flatMap(([decided, subjects]) =>
    itemsOf({ ...decided, correction: corrections.get(decided) }, outputs).filter(({ subject }) =>
      subjects.has(subject),
    ),
  )
  const entries = await entriesOf(store, items, outputs)
  for (const [index, { subject, reviewedId }] of items.entries()) {
    const entry = entries[index]
    const reviewed = decisions.find(({ subject }) => subject.span.row.id === reviewedId)?.subject
    if (entry) {
      const basedOn = known.get(subject)?.sequence ?? 0
      drafts.push({ ...entry, basedOn, isStale: reviewed?.span.row.isStale === 1 })
    }
  }
  return drafts
}

const spansOf = (decisions: readonly Decided[]): FoldedSpan[] => [
  ...new Set(decisions.flatMap(({ subject, root }) => (root ? [subject.span, root.span] : [subject.span]))),
]

/** The JSON of corrections that a root shows, which need to be converted to its form. */
async function correctionsOf(store: Store, decisions: readonly Decided[]): Promise<Map<Decided, string>> {
  const corrected = decisions.flatMap(decided => {
    const { approved } = decided.subject.span
    return decided.root && decided.review.state === 'corrected' && approved ? [{ decided, approved }] : []
  })
  const fetched = await fetchValues(
    store,
    corrected.flatMap(({ approved }) => (approved.ref === null ? [] : [approved])),
  )
  return new Map(
    corrected.flatMap(({ decided, approved }) => {
      const json = approved.ref === null && !approved.isCut ? approved.text : fetched.get(approved)
      return json === undefined ? [] : [[decided, json] as const]
    }),
  )
}

/** Whether an item's output has changed since the decision. */
const isStale = (reviewed: ReviewSubject, { span }: ReviewSubject, entry: LastEntry): boolean =>
  reviewed.span.row.isStale === 1 || (reviewed.span !== span && entry.outputRevision !== span.outputRevision)

/** What has changed about an item since its last entry. */
function updatesOf(entry: LastEntry, { item }: ReviewSubject, isStale: boolean): EntryDraft[] {
  const split = defaultSplit({ group: item.group, inputHash: entry.inputHash })
  const isMoved = !entry.isSplitSet && entry.split !== split
  if (isStale === entry.isStale && !isMoved) return []
  return [{ ...unchangedEntry(entry), change: isMoved ? 'split' : 'staleness', isStale, ...(isMoved && { split }) }]
}

/**
 * Removes items without a decision from their datasets. A root that no longer has the text of the reviewed span keeps
 * its item, marked as stale, while that decision is current.
 */
function endsOf(entries: readonly LastEntry[], inForce: ReadonlySet<string>, now: number): EntryDraft[] {
  return entries
    .filter(({ isIn }) => isIn)
    .flatMap((entry): EntryDraft[] => {
      const isKept = entry.reviewedId !== entry.itemId && entry.reviewId !== null && inForce.has(entry.reviewId)
      if (isKept) return entry.isStale ? [] : [{ ...unchangedEntry(entry), change: 'staleness', isStale: true }]
      const { reviewId, reviewedId, inputHash, outputRevision } = entry
      const decision = { decision: null, decidedAt: now, reviewId, reviewedId, inputHash, outputRevision }
      return [{ ...unchangedEntry(entry), ...decision, change: 'reset', isDecision: true }]
    })
}
