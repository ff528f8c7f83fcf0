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
import type { Subject } from './subject.ts'
import { remembering } from './terms.ts'
import type { FindingKind } from './weights.ts'

/** What a check saw in a trace: for the rules to weigh, for a model to read, for a person to look up. */
export interface Finding {
  /** What was seen: a row of the rules' table. */
  kind: FindingKind
  /** Where; null: the trace as a whole, or what lies outside of it. */
  spanId: string | null
  /** A JSON path from there: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`, `knowledgeDocs.<slug>`. */
  path: string
  /** What the place says or does, as the end of a sentence that begins with it. */
  note: string
  /** How clearly it was seen: above 0, up to 1. */
  strength: number
}

const CHECKS: readonly ((scene: Scene) => Iterable<Finding>)[] = [
  checkTravel,
  checkShape,
  checkGrounding,
  checkComputation,
  checkSlips,
  checkCoverage,
  checkFaults,
  checkCalls,
  checkRetrieval,
  checkGuidance,
  checkProhibitions,
  checkConsistency,
  checkScope,
  checkPeople,
  checkAge,
  checkRequest,
]

/** Checks a trace against itself, its prompts and the knowledge docs. Findings come in no order of weight. */
export function findEvidence(subject: Subject): Finding[] {
  return remembering(() => {
    const scene = sceneOf(subject)
    return CHECKS.flatMap(check => [...check(scene)])
  })
}
