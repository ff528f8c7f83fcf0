import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { textOf } from './attribute-values.ts'
import { isEmpty } from './message-parts.ts'
import { parsed } from './serialized.ts'
import { objectValue } from './values.ts'

/**
 * The state `config` of a model call: the requested model, its parameters by name, and the names of the tools it was
 * given. Undefined if nothing is known.
 */
export function modelConfig(
  parameters: Iterable<readonly [string, Json]>,
  model: string | undefined,
  tools: readonly string[],
): JsonObject | undefined {
  const config = new Map<string, Json>()
  if (model !== undefined) config.set('model', model)
  for (const [name, value] of parameters) if (value !== null && !isEmpty(value)) config.set(name, value)
  if (tools.length > 0) config.set('tools', [...tools])
  return config.size > 0 ? objectValue(config) : undefined
}

/** The names in a list of tool definitions in any form, serialized as a whole, one by one, or not at all. */
export function toolNames(definitions: Json | undefined): string[] {
  const list = definitions === undefined ? [] : parsed(definitions)
  return (Array.isArray(list) ? list : [list]).flatMap(item => {
    const tool = parsed(item)
    if (!isJsonObject(tool)) return []
    const declared = tool.functionDeclarations ?? tool.function_declarations
    if (Array.isArray(declared)) return toolNames(declared)
    // OpenAI's and Bedrock's definitions.
    const inner = [tool.function, tool.toolSpec].find(isJsonObject)
    const name = textOf(tool.name) ?? textOf(inner?.name)
    return name === undefined ? [] : [name]
  })
}
