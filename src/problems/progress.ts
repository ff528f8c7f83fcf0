import { checkGate } from '../domain/gate.ts'
import {
  DEFAULT_GATE,
  missingProof,
  neededFixes,
  problemState,
  REOPENING_CASES,
  verificationIn,
} from '../domain/problem.ts'
import { readGateState } from '../experiments/gate-state.ts'
import { settled, tallyOf } from '../experiments/tally.ts'
import { isoTime } from '../http/atoms.ts'
import { REOPENING_MS } from '../limits.ts'
import { toWatch } from '../read/watch.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import { findExperiment } from '../store/experiments/experiments.ts'
import { findCountedExperiment } from '../store/experiments/gates.ts'
import { type Candidate, findCandidates } from '../store/problems/candidates.ts'
import type { CountedProblem } from '../store/problems/problem-list.ts'
import { countCases, countFixed, type ProofCounts, saveProof } from '../store/problems/proof.ts'
import { readWatches, type Watch as WatchRecord } from '../store/texts/watch.ts'
import type { Progress } from './wire.ts'

/** Derives how far the fixes for problems have progressed, in the problems' order. */
export async function readProgress(
  store: Store,
  project: Pick<Project, 'key'>,
  problems: readonly CountedProblem[],
  now: number,
): Promise<Progress[]> {
  const versionIds = problems.flatMap(({ candidateVersionId }) => candidateVersionId ?? [])
  if (versionIds.length === 0)
    return problems.map(({ isDismissed }) => ({ ...UNLINKED, state: unlinkedState(isDismissed) }))
  const [candidates, watches] = await Promise.all([
    findCandidates(store, project.key, versionIds),
    readWatches(store, { versionIds }),
  ])
  return Promise.all(
    problems.map(problem => {
      const candidate = candidates.get(problem.candidateVersionId ?? '')
      const watch = candidate && watches.get(candidate.promptId)
      // Another version of the prompt may have become active between the two queries.
      const own = watch?.versionId === candidate?.versionId ? watch : undefined
      return progressOf(store, { ...problem, projectKey: project.key }, candidate, own, now)
    }),
  )
}

type ProblemOfProject = CountedProblem & { projectKey: number }

async function progressOf(
  store: Store,
  problem: ProblemOfProject,
  candidate: Candidate | undefined,
  watched: WatchRecord | undefined,
  now: number,
): Promise<Progress> {
  const { isDismissed, candidateAt } = problem
  if (!candidate) return { ...UNLINKED, state: unlinkedState(isDismissed) }
  const proof = await readProof(store, problem, candidate, now)
  const verifiedAt = watched && verificationIn(watched, problem.errorType)
  const casesSince =
    verifiedAt === undefined
      ? 0
      : await countCases(store, problem, {
          after: verifiedAt,
          until: verifiedAt + REOPENING_MS,
          limit: REOPENING_CASES,
        })
  const state = problemState({
    isDismissed,
    hasCandidate: true,
    isActive: candidate.isActive,
    isProven: proof.reason === null,
    isVerified: verifiedAt !== undefined,
    casesSince,
  })
  const { promptId, versionId, number, note } = candidate
  const watch = watched ? toWatch(watched) : null
  return { state, candidate: { promptId, versionId, number, note, at: isoTime(candidateAt ?? 0) }, proof, watch }
}

const UNLINKED = { candidate: null, proof: null, watch: null }
const unlinkedState = (isDismissed: boolean) => problemState({ ...NO_FACTS, isDismissed })
const NO_FACTS = { hasCandidate: false, isActive: false, isProven: false, isVerified: false, casesSince: 0 }

/** What the candidate's experiment shows about a problem. */
async function readProof(store: Store, problem: ProblemOfProject, candidate: Candidate, now: number) {
  const { projectKey, stepId } = problem
  const { met, experimentId, split, hasGate } = await readMet(store, { projectKey, stepId }, candidate.versionId, now)
  const counted = experimentId === null ? undefined : await countProof(store, problem, { experimentId, split })
  const { items, fixed } = counted ?? { items: 0, fixed: 0 }
  const reason = missingProof({ met, hasExperiment: counted !== undefined, hasGate, items, fixed })
  return { experimentId, split, met, fixed, items, needed: neededFixes(items), reason }
}

/** Counts a problem's items in an experiment. Keeps the counts, because deleted traces can't be counted again. */
async function countProof(
  store: Store,
  problem: ProblemOfProject,
  { experimentId, split }: { experimentId: string; split: string },
): Promise<ProofCounts | undefined> {
  const counted = await countFixed(store, problem, { experimentId, split })
  if (!counted) return undefined
  const kept: (ProofCounts & { experimentId: string }) | null = JSON.parse(problem.proof ?? 'null')
  const { items, fixed, removed } = counted
  if (removed > 0 && kept?.experimentId === experimentId) return kept
  const proof = JSON.stringify({ experimentId, items, fixed })
  if (proof !== problem.proof) await saveProof(store, problem, proof)
  return { items, fixed }
}

/** Whether a version meets its step's gate or, if the step has none, the default gate. */
async function readMet(store: Store, step: { projectKey: number; stepId: string }, versionId: string, now: number) {
  const { state } = await readGateState(store, step, versionId, now)
  if (state) return { met: state.met, experimentId: state.experimentId, split: state.gate.split, hasGate: true }
  const { split } = DEFAULT_GATE
  const id = await findCountedExperiment(store, step, versionId, split)
  const found = id === undefined ? undefined : await findExperiment(store, id)
  if (!found) return { met: false, experimentId: null, split, hasGate: false }
  const experiment = await settled(store, found)
  const counts = (await tallyOf(store, experiment)).counts(split)
  const { met } = checkGate(DEFAULT_GATE, { counts, finishedAt: experiment.finishedAt ?? experiment.activeAt }, now)
  return { met, experimentId: experiment.id, split, hasGate: false }
}
