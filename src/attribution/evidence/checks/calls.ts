import { isJsonObject, type Json, type JsonObject } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import type { Finding } from '../../finding.ts'
import { canonical, isEqual } from '../../text/canonical.ts'
import { letters } from '../../text/terms.ts'
import { isNothing } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'

/** Checks for calls that were repeated without effect, or whose arguments break the tool's description. */
export function* checkCalls({ subject, root }: Scene): Generator<Finding> {
  const steps = subject.steps.flatMap(step => [...(step.isRoot ? [] : [step]), ...loggedCalls(step)])
  for (const [first, ...again] of Map.groupBy(steps, ({ stepId, input }) => `${stepId} ${canonical(input)}`).values()) {
    if (!first || again.length === 0 || isNothing(first.input)) continue
    const isVain = again.every(({ output }) => isEqual(output, first.output))
    const note = `was sent ${again.length + 1} times${isVain ? ', with the same result each time' : ''}`
    yield { kind: 'call_repeated', spanId: first.spanId, path: 'input', note, strength: isVain ? 1 : 0.5 }
  }
  const tools = toolsOf(subject.steps)
  if (tools.size === 0) return
  const note = tools.size === 1 ? 'describes 1 tool' : `describes ${tools.size} tools`
  const { spanId } = steps.findLast(({ stepId }) => tools.has(letters(stepId))) ?? root
  yield { kind: 'tools_described', spanId, path: spanId === root.spanId ? 'state' : 'input', note, strength: 1 }
  for (const { stepId, spanId, input } of steps) {
    const fault = argumentFault(input, tools.get(letters(stepId)) ?? {})
    if (fault) yield { kind: 'arguments_break_description', spanId, ...fault, strength: 1 }
  }
}

/** The calls with results in lists in a step's state, each as a step. */
const loggedCalls = (step: Step): Pick<Step, 'spanId' | 'stepId' | 'input' | 'output'>[] =>
  Object.values(step.state).flatMap(value =>
    (Array.isArray(value) ? value : []).flatMap(item => {
      if (!isJsonObject(item)) return []
      const output = item.result ?? item.output ?? item.response ?? item.error
      const input = item.args ?? item.arguments ?? item.input
      const name = item.tool ?? item.name ?? item.function
      if (output === undefined || input === undefined || typeof name !== 'string') return []
      return [{ spanId: step.spanId, stepId: name, input, output }]
    }),
  )

/** Descriptions of arguments by name, by tool. A tool may be an item with a name or a field of an object. */
function toolsOf(steps: readonly Step[]): Map<string, Record<string, string>> {
  const places = steps.flatMap(({ state, metadata }) => [...Object.entries(state), ...Object.entries(metadata)])
  const described = places.flatMap(([key, value]): [string, Json][] => {
    if (!/tool|function|api|action|endpoint|command/iu.test(key)) return []
    if (isJsonObject(value)) return Object.entries(value)
    const items = Array.isArray(value) ? value : []
    return items.flatMap(item => (isJsonObject(item) && typeof item.name === 'string' ? [[item.name, item]] : []))
  })
  return new Map(described.toReversed().map(([name, item]) => [letters(name), argumentsOf(item)]))
}

function argumentsOf(item: Json): Record<string, string> {
  if (!isJsonObject(item)) return {}
  const { args, arguments: given, parameters, params, input } = item
  const listed = [args, given, parameters, params, input].find(isJsonObject) ?? item
  const fields: JsonObject = isJsonObject(listed.properties) ? listed.properties : listed
  const described = Object.entries(fields).filter(([field]) => field !== 'name' && field !== 'description')
  return Object.fromEntries(
    described.map(([field, value]) => [field, typeof value === 'string' ? value : canonical(value)]),
  )
}

/** Finds an argument that the tool doesn't take, whose type or format doesn't match, or that is missing. */
function argumentFault(input: Json, described: Readonly<Record<string, string>>) {
  if (!isJsonObject(input) || Object.keys(described).length === 0) return undefined
  for (const [field, value] of Object.entries(input)) {
    const path = `input.${field}`
    const description = Object.hasOwn(described, field) ? described[field] : undefined
    if (description === undefined) return { path, note: "is not one of the tool's arguments" }
    const format = /[YMDjahmst]{2,4}([-/.])[YMDjahmst]{2}\1[YMDjahmst]{2,4}/u.exec(description)?.[0]
    const isWrong =
      typeof value === 'string'
        ? format
          ? value.replace(/\d/gu, '0') !== format.replace(/\p{L}/gu, '0')
          : /integer|number|cents|\bint\b/iu.test(description)
        : typeof value === 'number' && /^string|text|"type":"string"/iu.test(description)
    if (isWrong) return { path, note: `is ${quote(value)}, but the tool expects ${quote(format ?? description)}` }
  }
  const missing = Object.entries(described).find(
    ([field, description]) => !(field in input) && !/optional|\?|default/iu.test(description + field),
  )
  if (!missing || Object.keys(described).length < 2) return undefined
  return { path: `input.${missing[0]}`, note: "is missing, although the tool's description lists it" }
}
