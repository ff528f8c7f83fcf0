import { counted } from '../../../domain/counted.ts'
import { isJsonObject } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import type { Finding } from '../../finding.ts'
import { canonical, isEqual } from '../../text/canonical.ts'
import { letters } from '../../text/terms.ts'
import { isNothing } from '../difference.ts'
import type { Scene } from '../scene.ts'

/** Checks for calls that were repeated without effect, and for descriptions of tools. */
export function* checkCalls({ subject, root }: Scene): Generator<Finding> {
  const steps = subject.steps.filter(({ isRoot }) => !isRoot)
  for (const [first, ...again] of Map.groupBy(steps, ({ stepId, input }) => `${stepId} ${canonical(input)}`).values()) {
    if (!first || again.length === 0 || isNothing(first.input)) continue
    const isVain = again.every(({ output }) => isEqual(output, first.output))
    const note = `was sent ${again.length + 1} times${isVain ? ', with the same result each time' : ''}`
    yield { kind: 'call_repeated', spanId: first.spanId, path: 'input', note, strength: isVain ? 1 : 0.5 }
  }
  const tools = toolsIn(subject.steps)
  if (tools.size === 0) return
  const note = `describes ${counted(tools.size, 'tool')}`
  const { spanId } = steps.findLast(({ stepId }) => tools.has(letters(stepId))) ?? root
  yield { kind: 'tools_described', spanId, path: spanId === root.spanId ? 'state' : 'input', note, strength: 1 }
}

/** The names of the tools that the steps describe. The tools may be items in a list or fields in an object. */
function toolsIn(steps: readonly Step[]): Set<string> {
  const places = steps.flatMap(({ state, metadata }) => [...Object.entries(state), ...Object.entries(metadata)])
  const names = places.flatMap(([key, value]): string[] => {
    if (!/tool|function|api|action|endpoint|command/iu.test(key)) return []
    if (isJsonObject(value)) return Object.keys(value)
    const items = Array.isArray(value) ? value : []
    return items.flatMap(item => (isJsonObject(item) && typeof item.name === 'string' ? item.name : []))
  })
  return new Set(names.map(letters))
}
