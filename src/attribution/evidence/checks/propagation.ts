import type { Finding } from '../../finding.ts'
import type { Scene } from '../scene.ts'

/** Reports where the fault first appears, and whether it propagated from there to the disputed step. */
export function* checkPropagation({ dispute, origin, omitted }: Scene): Generator<Finding> {
  for (const what of omitted) yield { kind: 'left_out', spanId: null, path: 'trace', note: what, strength: 1 }
  if (!dispute) return
  const at = { spanId: origin.spanId, path: 'output' }
  yield { kind: 'error_origin', ...at, note: 'is where the fault first appears', strength: 1 }
  if (origin !== dispute.step) {
    yield {
      kind: 'error_propagated',
      ...at,
      note: `contains the content that was disputed in "${dispute.step.stepId}"`,
      strength: 1,
    }
  }
}
