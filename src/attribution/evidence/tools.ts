import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { Step, Subject } from '../../domain/subject.ts'
import { spend } from '../effort.ts'
import { canonical } from '../text/canonical.ts'
import { plain } from '../text/terms.ts'

/** A tool, as a trace describes it. */
export interface Tool {
  name: string
  description: string
  /** Descriptions by argument name. */
  arguments: Record<string, string>
}

/** Finds tool descriptions in state or metadata: a list of tools with names, or an object keyed by name. */
export function toolsOf({ steps }: Subject): Tool[] {
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
        : [[field, typeof value === 'string' ? value : canonical(value)]],
    ),
  )
}

/** Returns a function that finds the tool that a step called. If two tools share a name, the first one wins. */
export function toolFinder(tools: readonly Tool[]): (step: Step) => Tool | undefined {
  const byName = new Map(tools.toReversed().map(tool => [letters(tool.name), tool]))
  return ({ stepId }) => byName.get(letters(stepId))
}

function letters(name: string): string {
  spend(name.length)
  return plain(name).replace(/\W/gu, '')
}

/** The calls listed in the steps' state, each as a step. */
export function loggedSteps({ steps }: Subject): Step[] {
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

/** The most frequent call in each list of calls in state, if the list contains it more than once. */
export function loggedTwice({ steps }: Subject): { step: Step; key: string; count: number; call: Json }[] {
  return steps.flatMap(step =>
    Object.entries(step.state).flatMap(([key, value]) => {
      const calls = Array.isArray(value) ? value.flatMap(item => callIn(item) ?? []) : []
      const groups = [...Map.groupBy(calls, canonical).values()]
      const [most] = groups.toSorted((left, right) => right.length - left.length)
      return most && most.length > 1 ? [{ step, key, count: most.length, call: most[0] ?? null }] : []
    }),
  )
}

/**
 * The tool and arguments of a list item that is a call with its result. Undefined for other items, such as tool
 * descriptions, which have no result.
 */
function callIn(item: Json): JsonObject | undefined {
  if (!isJsonObject(item)) return undefined
  if (!['result', 'output', 'response', 'error'].some(field => field in item)) return undefined
  const given = item.args ?? item.arguments ?? item.input
  return given === undefined ? undefined : { tool: item.tool ?? item.name ?? item.function ?? null, arguments: given }
}
