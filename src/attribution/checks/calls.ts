import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { isNothing } from '../difference.ts'
import type { Finding } from '../evidence.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote, type Source } from '../sources.ts'
import type { Step, Subject } from '../subject.ts'
import { plain, termsOf, termsOfValue } from '../terms.ts'
import { isErrorShaped } from './faults.ts'

/** A tool as a trace describes it. */
interface Tool {
  name: string
  description: string
  /** What is said of each argument. */
  arguments: Record<string, string>
}

/** Calls of tools: repeated ones, ones whose arguments break the tool's description or the plan, and ones that found nothing. */
export function* checkCalls(scene: Scene): Generator<Finding> {
  const { subject, root } = scene
  const tools = toolsOf(subject)
  const steps = [...subject.steps.filter(({ isRoot }) => !isRoot), ...loggedSteps(subject)]
  const calls = Map.groupBy(steps, ({ stepId, input }) => `${stepId} ${canonicalJson(input)}`)
  for (const [first, ...again] of calls.values()) {
    if (!first || again.length === 0 || isNothing(first.input)) continue
    const isVain = [first, ...again].every(({ output }) => canonicalJson(output) === canonicalJson(first.output))
    yield {
      kind: 'call_repeated',
      spanId: first.spanId,
      path: 'input',
      note: `was sent ${again.length + 1} times${isVain ? ', to the same effect' : ''}`,
      strength: isVain ? 1 : 0.5,
    }
  }
  for (const { step, key, count, call } of loggedTwice(subject)) {
    const note = `has the call ${quote(call)} ${count} times`
    yield { kind: 'call_repeated', spanId: step.spanId, path: `state.${key}`, note, strength: 1 }
  }
  for (const step of steps) {
    const tool = tools.find(({ name }) => isSameName(name, step.stepId))
    if (tool) {
      const fault = argumentFault(step.input, tool)
      if (fault)
        yield {
          kind: 'arguments_break_description',
          spanId: step.spanId,
          path: `input.${fault.field}`,
          note: fault.note,
          strength: 1,
        }
      const better = betterTool(tool, tools, scene)
      if (better)
        yield {
          kind: 'other_tool_fits',
          spanId: step.spanId,
          path: 'input',
          note: `went to ${tool.name}, while ${better.name} is described as "${better.description}"`,
          strength: 1,
        }
    }
    const odd = oddArgument(step, scene)
    const echo = (tool && otherEcho(step, scene)) ?? swappedArgument(step, scene)
    if (echo)
      yield { kind: 'call_took_other_value', spanId: step.spanId, path: echo.path, note: echo.note, strength: 1 }
    if (odd) yield { kind: odd.kind, spanId: step.spanId, path: odd.path, note: odd.note, strength: tool ? 1 : 0.7 }
    if (isErrorShaped(step.output))
      yield {
        kind: 'call_answered_error',
        spanId: step.spanId,
        path: 'output',
        note: `is an error: ${quote(step.output)}`,
        strength: 1,
      }
    if (step.hasOutput && !isNothing(step.input) && isEmptyResult(step.output)) {
      yield {
        kind: 'call_found_nothing',
        spanId: step.spanId,
        path: 'output',
        note: 'is an empty result',
        strength: tool ? 1 : 0.6,
      }
    }
  }
  if (tools.length > 0)
    yield {
      kind: 'tools_described',
      spanId: root.spanId,
      path: 'state',
      note: `describes ${tools.length} tools`,
      strength: 1,
    }
}

/** The calls that states list, as if each were a step. */
function loggedSteps({ steps }: Subject): Step[] {
  return steps.flatMap(step =>
    Object.values(step.state).flatMap(value =>
      (Array.isArray(value) ? value : []).flatMap(item => {
        const call = callIn(item)
        if (!call || !isJsonObject(item) || typeof call.tool !== 'string') return []
        const output = item.result ?? item.output ?? item.response ?? item.error ?? null
        const logged = {
          stepId: call.tool,
          input: call.arguments ?? null,
          output,
          hasOutput: true,
          state: {},
          metadata: {},
        }
        return [{ ...step, ...logged, isRoot: false, prompt: null, review: null }]
      }),
    ),
  )
}

/** Calls that a state lists several times over. */
function loggedTwice({ steps }: Subject): { step: Step; key: string; count: number; call: Json }[] {
  return steps.flatMap(step =>
    Object.entries(step.state).flatMap(([key, value]) => {
      const calls = Array.isArray(value) ? value.flatMap(item => callIn(item) ?? []) : []
      const groups = [...Map.groupBy(calls, canonicalJson).values()]
      const [most] = groups.toSorted((left, right) => right.length - left.length)
      return most && most.length > 1 ? [{ step, key, count: most.length, call: most[0] ?? null }] : []
    }),
  )
}

/** The tool and the arguments of an item that lists a call with its answer; a tool's description has none. */
function callIn(item: Json): JsonObject | undefined {
  if (!isJsonObject(item)) return undefined
  if (!['result', 'output', 'response', 'error'].some(field => field in item)) return undefined
  const given = item.args ?? item.arguments ?? item.input
  return given === undefined ? undefined : { tool: item.tool ?? item.name ?? item.function ?? null, arguments: given }
}

/** Descriptions of tools in state or metadata: a list of named ones, or an object by name. */
function toolsOf({ steps }: Subject): Tool[] {
  const places = steps.flatMap(({ state, metadata }) => [...Object.entries(state), ...Object.entries(metadata)])
  return places.flatMap(([key, value]) => {
    if (!/tool|function|api|action|endpoint|command/iu.test(key)) return []
    const entries: [string, Json][] = Array.isArray(value)
      ? value.flatMap(item =>
          isJsonObject(item) && typeof item.name === 'string' ? [[item.name, item] as [string, Json]] : [],
        )
      : isJsonObject(value)
        ? Object.entries(value)
        : []
    return entries.map(([name, item]) => ({ name, description: descriptionOf(item), arguments: argumentsOf(item) }))
  })
}

const descriptionOf = (item: Json): string =>
  typeof item === 'string' ? item : isJsonObject(item) && typeof item.description === 'string' ? item.description : ''

function argumentsOf(item: Json): Record<string, string> {
  if (!isJsonObject(item)) return {}
  const { args, arguments: given, parameters, params, input } = item
  const listed = [args, given, parameters, params, input].find(isJsonObject) ?? item
  const fields: JsonObject = isJsonObject(listed.properties) ? listed.properties : listed
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) =>
      field === 'name' || field === 'description'
        ? []
        : [[field, typeof value === 'string' ? value : canonicalJson(value)]],
    ),
  )
}

const isSameName = (name: string, stepId: string): boolean =>
  plain(name).replace(/\W/gu, '') === plain(stepId).replace(/\W/gu, '')

/** An argument that is no argument of the tool, or of another type or format than is said. */
function argumentFault(input: Json, tool: Tool): { field: string; note: string } | undefined {
  const described = Object.entries(tool.arguments)
  if (!isJsonObject(input) || described.length === 0) return undefined
  for (const [field, value] of Object.entries(input)) {
    const said = tool.arguments[field]
    if (said === undefined) return { field, note: `is no argument of ${tool.name}` }
    const format = /[YMDjahmst]{2,4}([-/.])[YMDjahmst]{2}\1[YMDjahmst]{2,4}/u.exec(said)?.[0]
    if (format && typeof value === 'string' && !fitsFormat(value, format))
      return { field, note: `is ${quote(value)}, where ${tool.name} wants ${format}` }
    if (/integer|number|cents|\bint\b/iu.test(said) && typeof value === 'string')
      return { field, note: `is the text ${quote(value)}, where ${tool.name} wants ${said}` }
    if (/^string|text/iu.test(said) && typeof value === 'number')
      return { field, note: `is the number ${value}, where ${tool.name} wants ${said}` }
  }
  const missing = described.find(([field, said]) => !(field in input) && !/optional|\?|default/iu.test(said + field))
  return missing && described.length > 1
    ? { field: missing[0], note: `is missing in the call of ${tool.name}` }
    : undefined
}

/** `MM/DD/YYYY`: digits and separators must stand alike, and a month is at most 12. */
function fitsFormat(value: string, format: string): boolean {
  if (value.replace(/\d/gu, '0') !== format.replace(/\p{L}/gu, '0')) return false
  const month = format.search(/M/u)
  return month < 0 || Number(value.slice(month, month + 2)) <= 12
}

/** Another tool whose description has more of the request's words than the called one's. */
function betterTool(called: Tool, tools: readonly Tool[], { root, subject }: Scene): Tool | undefined {
  const steps = new Set(subject.steps.map(({ stepId }) => plain(stepId)))
  const request = termsOfValue(root.input).words
  const matches = ({ name, description }: Tool) =>
    [...termsOf(`${name.replaceAll('_', ' ')} ${description}`).words.keys()].filter(stem => request.has(stem)).length
  const best = tools
    .filter(({ name }) => !steps.has(plain(name)))
    .toSorted((left, right) => matches(right) - matches(left))[0]
  return best && matches(best) > matches(called) ? best : undefined
}

/** An argument that an earlier step or the request has otherwise, under the same name; or a word of it that stands nowhere before. */
function oddArgument(step: Step, { sources }: Scene): Pick<Finding, 'kind' | 'path' | 'note'> | undefined {
  const before = sources.filter(
    ({ kind, path, step: owner }) =>
      owner !== null &&
      owner.stepId !== step.stepId &&
      kind !== 'prompt' &&
      !/tool|function/iu.test(path) &&
      (owner.isRoot ? path !== 'output' : owner.timestamp < step.timestamp),
  )
  if (!before.some(({ kind }) => kind === 'input' || kind === 'output')) return undefined
  for (const [path, leaf] of leavesOf(step.input, 'input')) {
    if (leaf === null || typeof leaf === 'boolean') continue
    const field = /([^.[\]]+)$/u.exec(path)?.[1] ?? ''
    const same = before.flatMap(source =>
      [...leavesOf(source.value, source.path)].filter(([place]) => place.endsWith(`.${field}`) && field.length > 1),
    )
    const terms = termsOfValue(leaf)
    const [fact] = terms.facts
    if (
      same.length > 0 &&
      fact &&
      same.every(([, value]) => !valueHas(value, fact.readings)) &&
      same.length <= 2 &&
      !knows(before, fact.readings)
    ) {
      return {
        kind: 'argument_differs',
        path,
        note: `is ${quote(leaf)}, while ${same[0]?.[0]} has ${quote(same[0]?.[1])}`,
      }
    }
    const unknown = terms.facts.find(
      ({ kind, readings }) => (kind === 'identifier' || kind === 'address') && !knows(before, readings),
    )
    if (unknown)
      return { kind: 'argument_unfounded', path, note: `holds "${unknown.text}", which nothing before it does` }
  }
  return undefined
}

/** An argument that the call's own answer repeats as another value: a day for a month, or a hundredth. */
function otherEcho(step: Step, { sources }: Scene): { path: string; note: string } | undefined {
  const answer = termsOfValue(step.output)
  const answered = new Set(answer.facts.flatMap(({ readings }) => readings))
  const before = sources.filter(
    ({ kind, step: owner, path }) =>
      owner &&
      owner !== step &&
      kind !== 'metadata' &&
      (owner.isRoot ? path !== 'output' : owner.timestamp < step.timestamp),
  )
  for (const [path, leaf] of leavesOf(step.input, 'input')) {
    for (const { kind, readings, text } of termsOfValue(leaf).facts) {
      const [first, second] = readings
      if (kind === 'date' && first && second) {
        const taken = readings.find(reading => answered.has(reading))
        const meant = readings.find(reading => reading !== taken && knows(before, [reading]))
        if (taken && meant && !knows(before, [taken]))
          return { path, note: `is "${text}", which was taken for ${taken.slice(2)} and meant ${meant.slice(2)}` }
      }
      const number = kind === 'number' ? Number(first?.slice(2)) : 0
      const scaled = [0.01, 100, 0.001, 1000]
        .map(power => number * power)
        .find(
          value => number >= 10 && !answered.has(`n:${number}`) && answered.has(`n:${Math.round(value * 1e6) / 1e6}`),
        )
      if (scaled !== undefined) return { path, note: `is ${number}, which was taken for ${scaled}` }
    }
  }
  return undefined
}

/** Two arguments of which each has the value that one record before gives to the other. */
function swappedArgument(step: Step, { sources }: Scene): { path: string; note: string } | undefined {
  if (!isJsonObject(step.input)) return undefined
  const records = sources.flatMap(({ kind, value, step: owner }) =>
    owner !== step && (kind === 'input' || kind === 'output' || kind === 'state') && isJsonObject(value) ? [value] : [],
  )
  const fields = Object.entries(step.input).filter(([, value]) => !isNothing(value))
  for (const record of records) {
    for (const [field, value] of fields) {
      const other = fields.find(
        ([name, item]) =>
          name !== field && item !== value && fieldIn(record, name) === value && fieldIn(record, field) === item,
      )
      if (other)
        return { path: `input.${field}`, note: `and ${other[0]} are swapped: ${quote(value)} was given as ${other[0]}` }
    }
  }
  return undefined
}

/** A record's field under this name, or a longer or shorter form of it. */
function fieldIn(record: JsonObject, name: string): Json | undefined {
  const [field] = Object.keys(record).filter(key => key.startsWith(name) || (key.length >= 3 && name.startsWith(key)))
  return field === undefined ? undefined : record[field]
}

const knows = (sources: readonly Source[], readings: readonly string[]): boolean =>
  sources.some(source => readings.some(reading => source.readings.has(reading)))

const valueHas = (value: Json, readings: readonly string[]): boolean =>
  termsOfValue(value).facts.some(fact => fact.readings.some(reading => readings.includes(reading)))

/** `[]`, `{rows: []}`, `{count: 0}`, null. */
const isEmptyResult = (output: Json): boolean =>
  isNothing(output) ||
  (isJsonObject(output) &&
    Object.values(output).every(value => isNothing(value) || value === 0) &&
    Object.keys(output).length <= 3)
