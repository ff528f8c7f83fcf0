import { isJsonObject, type Json } from '../../../domain/json.ts'
import type { Step, Subject } from '../../../domain/subject.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { canonical, isEqual } from '../../text/canonical.ts'
import { plain, termsOf, termsOfValue } from '../../text/terms.ts'
import { isNothing } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'
import { loggedSteps, loggedTwice, type Tool, toolFinder, toolsOf } from '../tools.ts'
import { argumentFault, misreadArgument, suspiciousArgument, swappedArgument } from './arguments.ts'
import { isErrorShaped } from './faults.ts'

/**
 * Checks for tool calls that were repeated, whose arguments contradict the tool's description or the plan, or that
 * found nothing.
 */
export function* checkCalls(scene: Scene): Generator<Finding> {
  const { subject, root } = scene
  const tools = toolsOf(subject)
  const steps = [...subject.steps.filter(({ isRoot }) => !isRoot), ...loggedSteps(subject)]
  yield* repeatedCalls(steps)
  yield* repeatedInLogs(subject)
  const toolOf = toolFinder(tools)
  const fits = tools.map(tool => fitOf(tool, scene))
  const uncalled = bestUncalled(tools, fits, scene)
  for (const step of steps) {
    const tool = toolOf(step)
    if (tool) yield* checkAgainstTools(step, tool, fits[tools.indexOf(tool)] ?? 0, uncalled)
    yield* checkAgainstTrace(step, tool, scene)
    yield* answerOf(step, tool)
  }
  if (tools.length === 0) return
  const note = tools.length === 1 ? 'describes 1 tool' : `describes ${tools.length} tools`
  yield { kind: 'tools_described', spanId: root.spanId, path: 'state', note, strength: 1 }
}

function* repeatedCalls(steps: readonly Step[]): Generator<Finding> {
  const calls = Map.groupBy(steps, ({ stepId, input }) => `${stepId} ${canonical(input)}`)
  for (const [first, ...again] of calls.values()) {
    if (!first || again.length === 0 || isNothing(first.input)) continue
    const isVain = again.every(({ output }) => isEqual(output, first.output))
    const note = `was sent ${again.length + 1} times${isVain ? ', with the same result each time' : ''}`
    yield { kind: 'call_repeated', spanId: first.spanId, path: 'input', note, strength: isVain ? 1 : 0.5 }
  }
}

function* repeatedInLogs(subject: Subject): Generator<Finding> {
  for (const { step, key, count, call } of loggedTwice(subject)) {
    const note = `contains the call ${quote(call)} ${count} times`
    yield { kind: 'call_repeated', spanId: step.spanId, path: `state.${key}`, note, strength: 1 }
  }
}

/** Compares a call with the description of its tool and with those of the other tools. */
function* checkAgainstTools(
  step: Step,
  tool: Tool,
  fit: number,
  uncalled: UncalledTool | undefined,
): Generator<Finding> {
  const { spanId } = step
  const fault = argumentFault(step, tool)
  if (fault) yield { ...fault, spanId, strength: 1 }
  if (!uncalled || uncalled.fit <= fit) return
  const note = `was sent to ${tool.name}, but ${uncalled.tool.name} is described as "${uncalled.tool.description}"`
  yield { kind: 'other_tool_fits', spanId, path: 'input', note, strength: 1 }
}

/** Compares a call with what came before it. Without a tool description, the step may not be a call at all. */
function* checkAgainstTrace(step: Step, tool: Tool | undefined, scene: Scene): Generator<Finding> {
  const { spanId } = step
  const other = (tool && misreadArgument(step, scene)) ?? swappedArgument(step, scene)
  if (other) yield { ...other, spanId, strength: 1 }
  const odd = suspiciousArgument(step, scene)
  if (odd) yield { ...odd, spanId, strength: tool ? 1 : 0.7 }
}

function* answerOf({ spanId, input, output, hasOutput }: Step, tool: Tool | undefined): Generator<Finding> {
  const at = { spanId, path: 'output' }
  if (isErrorShaped(output))
    yield { kind: 'call_answered_error', ...at, note: `is an error: ${quote(output)}`, strength: 1 }
  if (hasOutput && !isNothing(input) && isEmptyResult(output))
    yield { kind: 'call_found_nothing', ...at, note: 'is an empty result', strength: tool ? 1 : 0.6 }
}

/** How many of the request's words are in a tool's description. */
function fitOf({ name, description }: Tool, { root }: Scene): number {
  const request = termsOfValue(root.input).words
  const { words } = termsOf(`${name.replaceAll('_', ' ')} ${description}`)
  spend(words.size)
  return [...words.keys()].filter(stem => request.has(stem)).length
}

interface UncalledTool {
  tool: Tool
  fit: number
}

/** The uncalled tool whose description shares the most words with the request. */
function bestUncalled(tools: readonly Tool[], fits: readonly number[], { subject }: Scene): UncalledTool | undefined {
  const steps = new Set(subject.steps.map(({ stepId }) => plain(stepId)))
  const uncalled = tools.flatMap((tool, index) =>
    steps.has(plain(tool.name)) ? [] : [{ tool, fit: fits[index] ?? 0 }],
  )
  const [first] = uncalled
  return first && uncalled.reduce((best, other) => (other.fit > best.fit ? other : best), first)
}

/** Whether a result is empty: `[]`, `{rows: []}`, `{count: 0}`, null. */
const isEmptyResult = (output: Json): boolean =>
  isNothing(output) ||
  (isJsonObject(output) &&
    Object.values(output).every(value => isNothing(value) || value === 0) &&
    Object.keys(output).length <= 3)
