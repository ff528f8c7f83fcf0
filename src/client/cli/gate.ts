import type { Output } from './output.ts'
import type { GateState } from './wire.ts'

/** Prints whether a gate is met, and which conditions aren't. */
export async function printGate(
  out: Output,
  state: Pick<GateState, 'met' | 'unmet' | 'experimentId'> | undefined,
): Promise<void> {
  if (!state) return out.line('  The step has no gate.', 'faint')
  if (state.met) return out.line('  The gate is met.', 'added')
  await out.line("  The gate isn't met:", 'bad')
  if (state.experimentId === null) await out.line('  No experiment with this version counts toward the gate.')
  for (const { condition, required, actual } of state.unmet) {
    const bound = condition.startsWith('min') ? 'at least' : 'at most'
    await out.line(
      `  ${condition} must be ${bound} ${required}, ${actual === null ? "but there's nothing to measure" : `but is ${actual}`}`,
    )
  }
}
