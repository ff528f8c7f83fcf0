import type { Subject } from '../../domain/subject.ts'
import { atOnce, type Work } from '../../domain/turns.ts'
import { MAX_EVIDENCE_EFFORT, MAX_PART_EFFORT, PAUSE_EFFORT } from '../../limits.ts'
import { attempt, type Effort, within } from '../effort.ts'
import type { Finding } from '../finding.ts'
import { remembering, type Terms } from '../text/terms.ts'
import { checkAge } from './checks/age.ts'
import { checkCalls } from './checks/calls.ts'
import { checkComputation } from './checks/computation.ts'
import { checkConsistency } from './checks/consistency.ts'
import { checkCoverage } from './checks/coverage.ts'
import { checkFaults } from './checks/faults.ts'
import { checkGrounding } from './checks/grounding.ts'
import { checkGuidance } from './checks/guidance.ts'
import { checkPeople } from './checks/people.ts'
import { checkProhibitions } from './checks/prohibitions.ts'
import { checkRequest } from './checks/request.ts'
import { checkRetrieval } from './checks/retrieval.ts'
import { checkScope } from './checks/scope.ts'
import { checkShape } from './checks/shape.ts'
import { checkSlips } from './checks/slips.ts'
import { checkTravel } from './checks/travel.ts'
import { type Scene, sceneOf } from './scene.ts'

/** The checks. Each has a label for the answer to name if the check is cut off. */
const CHECKS: readonly (readonly [what: string, check: (scene: Scene) => Iterable<Finding>])[] = [
  ['the path of the fault', checkTravel],
  ['the shape of the output', checkShape],
  ['where values come from', checkGrounding],
  ['computations', checkComputation],
  ['slips', checkSlips],
  ['items left out', checkCoverage],
  ['failures', checkFaults],
  ['calls', checkCalls],
  ['retrieval', checkRetrieval],
  ['guidelines', checkGuidance],
  ['prohibitions', checkProhibitions],
  ['equal items', checkConsistency],
  ['the scope', checkScope],
  ['what people say', checkPeople],
  ['dates of sources', checkAge],
  ['the request', checkRequest],
]

/** A search for evidence, which can pause at each yield. */
function* search(subject: Subject): Work<Finding[]> {
  const scene = yield* sceneOf(subject)
  const findings: Finding[] = []
  const cut: string[] = []
  for (const [what, check] of CHECKS) {
    yield
    const isThrough = attempt(MAX_PART_EFFORT, () => {
      // One by one, so that a check that is cut off keeps its findings so far.
      for (const finding of check(scene)) findings.push(finding)
      return true
    })
    if (!isThrough) cut.push(what)
  }
  if (cut.length > 0) {
    const note = `part of ${cut.join(', ')}: there is too much to compare`
    findings.push({ kind: 'left_out', spanId: null, path: 'trace', note, strength: 1 })
  }
  return findings
}

const newEffort = (): Effort => ({ spent: 0, until: MAX_EVIDENCE_EFFORT })

/**
 * Checks a trace against itself, its prompts and the knowledge docs. Yields about every hundredth of a second, unless a
 * single check takes longer. Findings are in no particular order.
 */
export function* searchEvidence(subject: Subject, effort: Effort = newEffort()): Work<Finding[]> {
  const texts = new Map<string, Terms>()
  const parts = search(subject)
  for (let pausedAt = 0; ; ) {
    const part = within(effort, () => remembering(texts, () => parts.next()))
    if (part.done) return part.value
    if (effort.spent - pausedAt < PAUSE_EFFORT) continue
    pausedAt = effort.spent
    yield
  }
}

/** Like `searchEvidence`, without pauses. */
export const findEvidence = (subject: Subject): Finding[] => atOnce(searchEvidence(subject))
