import { and, eq, type SQL, sql } from 'drizzle-orm'
import { newId, newRevision } from '../../domain/ids.ts'
import type { ProblemState } from '../../domain/problem.ts'
import { type Act, actorOf, recordAct } from '../accounts/audit.ts'
import { hasExistingProject } from '../accounts/projects.ts'
import { named, runLast } from '../core/database.ts'
import { recordEvents } from '../core/outbox.ts'
import { selectFor } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { problems } from '../schema/problems.ts'
import type { FoundProblem, ProblemInProject } from './problem-ids.ts'
import type { ProblemDecision } from './problem-list.ts'

/** Whether a row belongs to a problem, under any name of the problem's step. */
export const isOf = ({ projectKey, stepId, errorType, docSlug }: ProblemInProject): SQL | undefined =>
  and(
    eq(problems.projectKey, projectKey),
    isStep(projectKey, problems.stepId, stepId),
    eq(problems.errorType, errorType),
    eq(problems.docSlug, docSlug),
  )

/**
 * Saves what people decided about a problem, replacing `before`. Returns false if somebody else has changed the problem
 * since then or if its project has been deleted.
 */
export async function saveProblem(
  { control: store }: Store,
  act: Act,
  problem: FoundProblem,
  before: ProblemDecision,
  after: Omit<ProblemDecision, 'revision'>,
): Promise<boolean> {
  const { database } = store
  const { id, projectKey, stepId, errorType, docSlug } = problem
  const last = (column: typeof problems.revision | typeof problems.updatedAt) =>
    sql`(select ${column} from ${problems} where ${isOf(problem)} order by ${problems.updatedAt} desc limit 1)`
  const holds = and(
    sql`coalesce(${last(problems.revision)}, '') = ${before.revision}`,
    hasExistingProject(store, sql`${projectKey}`),
  )
  const revision = newRevision()
  const knownState = stateAfter(before, after)
  const changes = [
    ...(before.isDismissed === after.isDismissed ? [] : ['dismissed']),
    ...(before.note === after.note ? [] : ['note']),
    ...(before.assigneeId === after.assigneeId ? [] : ['assigneeId']),
    ...(before.candidateVersionId === after.candidateVersionId ? [] : ['candidateVersionId']),
  ]
  const event = eventOf(problem, {
    before: before.knownState ?? stateAfter(before, before),
    state: knownState,
    changes,
  })
  const events = recordEvents(
    store,
    'problem.changed',
    projectKey,
    {
      ...event,
      actorId: actorOf(act),
      at: act.at,
      data: { ...event.data, assigneeId: after.assigneeId, candidateVersionId: after.candidateVersionId },
    },
    sql`where ${holds}`,
  )
  const changed = {
    ...after,
    knownState,
    isDismissed: Number(after.isDismissed),
    // If a renamed step has several rows, the last change counts.
    updatedAt: sql`max(${act.at}, coalesce(${last(problems.updatedAt)} + 1, 0))`,
    revision,
  }
  const [saved] = await runLast(database, [
    recordAct(
      store,
      act,
      {
        action: 'problem.change',
        targetId: id,
        projectKey,
        beforeId: before.candidateVersionId,
        afterId: after.candidateVersionId,
      },
      sql`${holds}`,
    ),
    ...events,
    database
      .insert(problems)
      .select(selectFor(problems, { ...changed, projectKey, stepId, errorType, docSlug }, sql`where ${holds}`))
      .onConflictDoUpdate({
        target: [problems.projectKey, problems.stepId, problems.errorType, problems.docSlug],
        set: {
          isDismissed: sql`excluded.is_dismissed`,
          note: sql`excluded.note`,
          assigneeId: sql`excluded.assignee_id`,
          candidateVersionId: sql`excluded.candidate_version_id`,
          candidateAt: sql`excluded.candidate_at`,
          proof: sql`excluded.proof`,
          knownState: sql`excluded.known_state`,
          updatedAt: sql`excluded.updated_at`,
          revision: sql`excluded.revision`,
        },
      }),
    database
      .select(named({ revision: problems.revision }))
      .from(problems)
      .where(and(isOf(problem), eq(problems.revision, revision))),
  ])
  return saved !== undefined
}

/**
 * The state right after a person changes the problem. Later, `noticeStates` finds out how far the candidate has
 * progressed.
 */
function stateAfter(before: ProblemDecision, after: Omit<ProblemDecision, 'revision'>): ProblemState {
  if (after.isDismissed) return 'dismissed'
  if (after.candidateVersionId === null) return 'open'
  const isKept = !before.isDismissed && before.candidateVersionId === after.candidateVersionId
  return (isKept && before.knownState) || 'fixing'
}

const eventOf = (
  { id, stepId, errorType, docSlug }: Omit<FoundProblem, 'projectId'>,
  { before, state, changes }: { before: ProblemState; state: ProblemState; changes: readonly string[] },
) => ({
  id: newId(),
  traceKey: null,
  subjectId: id,
  data: {
    problemId: id,
    stepId,
    errorType: errorType || null,
    docSlug: docSlug || null,
    state,
    previousState: before,
    changed: sql`json(${JSON.stringify([...(state === before ? [] : ['state']), ...changes])})`,
  },
})

/** Stores a state that was derived from data. Records an event for it, unless it's the problem's first known state. */
export async function saveKnownState(
  { control: store }: Store,
  problem: Omit<FoundProblem, 'projectId'> & ProblemDecision,
  state: ProblemState,
  now: number,
): Promise<void> {
  const { projectKey, knownState, revision, assigneeId, candidateVersionId } = problem
  const isNow = and(isOf(problem), eq(problems.revision, revision), sql`${problems.knownState} is ${knownState}`)
  const event = knownState && eventOf(problem, { before: knownState, state, changes: [] })
  const events = event
    ? recordEvents(
        store,
        'problem.changed',
        projectKey,
        { ...event, actorId: null, at: now, data: { ...event.data, assigneeId, candidateVersionId } },
        sql`from ${problems} where ${isNow}`,
      )
    : []
  await runLast(store.database, [
    ...events,
    store.database.update(problems).set({ knownState: state }).where(isNow).returning({ revision: problems.revision }),
  ])
}
