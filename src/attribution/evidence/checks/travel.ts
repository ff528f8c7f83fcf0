import type { Finding } from '../../finding.ts'
import type { Scene } from '../scene.ts'

/** Where the fault first shows, and whether it travelled from there to where somebody objected to it. */
export function* checkTravel({ dispute, origin, omitted }: Scene): Generator<Finding> {
  for (const what of omitted) yield { kind: 'left_out', spanId: null, path: 'trace', note: what, strength: 1 }
  if (!dispute) return
  const at = { spanId: origin.spanId, path: 'output' }
  yield { kind: 'error_origin', ...at, note: 'is where the fault first shows', strength: 1 }
  if (origin !== dispute.step) {
    yield {
      kind: 'error_travelled',
      ...at,
      note: `carries what was objected to in "${dispute.step.stepId}"`,
      strength: 1,
    }
  }
}
