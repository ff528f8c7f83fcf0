/* Assigns spans to the people who should review them. */

/** A person who is assigned a span. */
interface Assigned {
  userId: string
  dueAt: number | null
}

/** A span to assign. */
export interface Assignable {
  /** How many people have to review it. */
  reviewers: number
  /** Who has already voted on it, as far as the caller is allowed to know. They don't have to review it again. */
  voters: readonly string[]
  assigned: readonly Assigned[]
}

/** A person's open assignments. */
export interface OpenAssignments {
  total: number
  /** Assigned spans that the person hasn't voted on. */
  waiting: number
}

const NONE: OpenAssignments = { total: 0, waiting: 0 }

/** How to assign spans. */
export interface Sharing {
  /** The people to assign spans to. */
  userIds: readonly string[]
  /** Each person's open assignments. */
  open: ReadonlyMap<string, OpenAssignments>
  /** The most open assignments that one person may have. */
  maxOpen: number
  /** If set, only this person's assignments are moved. */
  fromUserId?: string | undefined
  /** Whether other people's assignments to the spans end. */
  replace: boolean
  /** If undefined, new assignments have no due date, and the others keep theirs. */
  dueAt?: number | null | undefined
}

/** An assignment to a span, before and after a change. */
export interface AssignmentChange<Span> {
  span: Span
  /** The person whose assignment ends. Null if no assignment ends. */
  before: string | null
  /** The person who has it now. Null if nobody does. */
  after: string | null
  dueAt: number | null
}

interface Shares<Span> {
  changes: AssignmentChange<Span>[]
  /** How many spans need more people than are available, because the remaining people already have the maximum. */
  short: number
}

/**
 * Assigns spans evenly: each goes to as many people as it still needs, starting with those who have the fewest spans
 * waiting for them. Ties are broken by the given order. If there's nobody to assign spans to, assignments end.
 */
export function shareOut<Span extends Assignable>(spans: readonly Span[], sharing: Sharing): Shares<Span> {
  const { fromUserId, replace, dueAt } = sharing
  const userIds = [...new Set(sharing.userIds)]
  const open = new Map(userIds.map(userId => [userId, sharing.open.get(userId) ?? NONE]))
  const openOf = (userId: string) => open.get(userId) ?? NONE
  const changes: AssignmentChange<Span>[] = []
  let short = 0
  for (const span of spans) {
    const { assigned, voters } = span
    const isEnding = ({ userId }: Assigned) =>
      fromUserId === undefined ? (replace || userIds.length === 0) && !open.has(userId) : userId === fromUserId
    const staying = assigned.filter(each => !isEnding(each))
    const ending = assigned.filter(isEnding)
    for (const { userId, dueAt: before } of staying) {
      if (dueAt === undefined || before === dueAt || !open.has(userId) || fromUserId !== undefined) continue
      changes.push({ span, before: userId, after: userId, dueAt })
    }
    const isAssigned = (userId: string) => staying.some(each => each.userId === userId)
    const wanted =
      fromUserId === undefined
        ? span.reviewers - staying.length - voters.filter(userId => !isAssigned(userId)).length
        : ending.filter(({ userId }) => !voters.includes(userId)).length
    const others = userIds.filter(userId => userId !== fromUserId && !isAssigned(userId) && !voters.includes(userId))
    const free = others.filter(userId => openOf(userId).total < sharing.maxOpen)
    const chosen = free
      .toSorted((left, right) => openOf(left).waiting - openOf(right).waiting)
      .slice(0, Math.max(0, wanted))
    const isShort = chosen.length < Math.min(wanted, others.length)
    if (isShort) short++
    for (const [index, userId] of chosen.entries()) {
      const moved = ending[index]
      const { total, waiting } = openOf(userId)
      open.set(userId, { total: total + 1, waiting: waiting + 1 })
      changes.push({
        span,
        before: moved?.userId ?? null,
        after: userId,
        dueAt: dueAt === undefined ? (moved?.dueAt ?? null) : dueAt,
      })
    }
    // Nobody loses a span if nobody else can take it.
    if (isShort) continue
    for (const { userId } of ending.slice(chosen.length))
      changes.push({ span, before: userId, after: null, dueAt: null })
  }
  return { changes, short }
}
