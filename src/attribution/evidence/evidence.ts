import type { Subject } from '../../domain/subject.ts'
import { atOnce, type Work } from '../../domain/turns.ts'
import { MAX_EVIDENCE_EFFORT, MAX_PART_EFFORT, PAUSE_EFFORT } from '../../limits.ts'
import { attempt, type Effort, within } from '../effort.ts'
import type { Finding } from '../finding.ts'
import { remembering, type Terms } from '../text/terms.ts'
import { checkCalls } from './checks/calls.ts'
import { checkComputation } from './checks/computation.ts'
import { checkFaults } from './checks/faults.ts'
import { checkGrounding } from './checks/grounding.ts'
import { checkPeople } from './checks/people.ts'
import { checkRetrieval } from './checks/retrieval.ts'
import { checkShape } from './checks/shape.ts'
import { type Scene, sceneOf } from './scene.ts'

/** The checks. If a check is cut off, the answer mentions the check's label. */
const CHECKS: readonly (readonly [label: string, check: (scene: Scene) => Iterable<Finding>])[] = [
  ['the shape of the output', checkShape],
  ['where values came from', checkGrounding],
  ['computations', checkComputation],
  ['failures', checkFaults],
  ['calls', checkCalls],
  ['retrieval', checkRetrieval],
  ['what people said', checkPeople],
]

/** Searches for evidence. The search can pause at each yield. */
function* search(subject: Subject): Work<Finding[]> {
  const scene = yield* sceneOf(subject)
  const { dispute, origin, omitted } = scene
  const findings = omitted.map(leftOut)
  const note = 'is where the fault first appears'
  if (dispute) findings.push({ kind: 'error_origin', spanId: origin.spanId, path: 'output', note, strength: 1 })
  const cut: string[] = []
  for (const [label, check] of CHECKS) {
    yield
    const isComplete = attempt(MAX_PART_EFFORT, () => {
      // Push findings one at a time, so that a check that's cut off keeps the findings that it already has.
      for (const finding of check(scene)) findings.push(finding)
      return true
    })
    if (!isComplete) cut.push(label)
  }
  if (cut.length > 0) findings.push(leftOut(`part of ${cut.join(', ')}: there was too much to compare`))
  return findings
}

const leftOut = (note: string): Finding => ({ kind: 'left_out', spanId: null, path: 'trace', note, strength: 1 })

const newEffort = (): Effort => ({ spent: 0, until: MAX_EVIDENCE_EFFORT })

/**
 * Checks a trace for inconsistencies with itself, its prompts, and the knowledge docs. Yields about every 10
 * milliseconds, unless a single check takes longer. Findings are in no particular order.
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

/** Like `searchEvidence`, but without pauses. */
export const findEvidence = (subject: Subject): Finding[] => atOnce(searchEvidence(subject))
