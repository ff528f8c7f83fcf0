import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf } from './attribute-values.ts'

/*
 * Frameworks make up names for each run, such as `Crew_<uuid>.kickoff` or `Step 7`. Reviews, prompts, and statistics
 * identify a step by its name, so the name must be the same in every run.
 */

/** Longer names are truncated first, so the patterns below only run on short strings. */
const MAX_LENGTH = 1024

/** A UUID, the address of an object in memory, or a hex id with letters and digits. */
const RANDOM =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-z])0x[0-9a-f]{6,16}|(?<![0-9a-z])(?=[0-9a-f]{0,31}[a-f])(?=[0-9a-f]{0,31}[0-9])[0-9a-f]{12,64}(?![0-9a-z])/gi

/** A loop's word and counter. Other numbers stay, because they may distinguish steps: `stage 1`, `stage 2`. */
const COUNTED =
  /(?<![a-z])(step|turn|iteration|attempt|round|loop|cycle|retry|chunk|batch)(?:[ _#-]{0,2}| no\. )\d{1,9}$/i

/** Removes ids and counters, which differ from run to run, from a name. Empty if nothing else is left. */
export function stableName(given: string): string {
  const name = given.slice(0, MAX_LENGTH)
  const [first = '', ...others] = name.split(RANDOM)
  const joined = others.reduce(joinedName, first)
  const stable = others.length === 0 ? name : joined.replace(/[\s_.:/#(-]+$/, '')
  return stable.replace(COUNTED, '$1').trim()
}

/** Joins the text before and after an id with one of the separators around it. */
function joinedName(before: string, after: string): string {
  const left = before.replace(/[\s_.:/#(-]+$/, '')
  const separators = /^[\s_.:/#)-]*/.exec(after)?.[0] ?? ''
  const right = after.slice(separators.length)
  if (left === '' || right === '') return left + right
  const between = /^\w/.test(right) && /\w$/.test(left) ? '_' : ''
  return left + (separators.replaceAll(/[()]/g, '').at(-1) ?? between) + right
}

/**
 * The name of a step in a LangGraph node: the node's name for the node itself, `node.name` for steps in it. The name
 * starts with the agent's name if there is one, because all of LangChain's agents have a node named `model`. Undefined
 * outside a graph, and for a tool, because one node runs all tools.
 */
export function nameInGraph(
  kind: StepKind | undefined,
  spanName: string,
  run: JsonObject | undefined,
): string | undefined {
  const node = idOf(run?.langgraph_node)
  if (node === undefined || kind === 'tool') return undefined
  const agent = idOf(run?.lc_agent_name)
  return [agent, node, spanName === node ? undefined : spanName].filter(part => part !== undefined).join('.')
}

/** Metadata that LangChain and LangGraph add to a run. It describes one step, not the trace. */
const RUN_METADATA = /^(?:lc_|langgraph_|checkpoint_(?:ns|id|map)$)/
/** Metadata that libraries add for their own use. */
const NOISE =
  /^(?:LANGSMITH_|LANGCHAIN_|ls_|(?:lc_versions|usage_object|usage_metadata|invocation_params|revision_id|_type)$|__|ai\.)/

/** Splits metadata into the caller's and the run's. Drops empty values and libraries' own fields. */
export function splitMetadata(metadata: JsonObject | undefined): {
  own: JsonObject | undefined
  run: JsonObject | undefined
} {
  const entries = Object.entries(metadata ?? {}).filter(
    ([field, value]) => !isEmptyValue(value) && !NOISE.test(field) && !areVersions(value),
  )
  const [own, run] = [false, true].map(isRun => {
    const fields = entries.filter(([field]) => RUN_METADATA.test(field) === isRun)
    return fields.length > 0 ? Object.fromEntries(fields) : undefined
  })
  return { own, run }
}

/** The versions of LangChain's own packages in JavaScript: `{'@langchain/core': '1.4.0'}`. */
const areVersions = (value: Json): boolean => isJsonObject(value) && value['@langchain/core'] !== undefined

const isEmptyValue = (value: Json): boolean =>
  value === null || value === '' || ((Array.isArray(value) || isJsonObject(value)) && Object.keys(value).length === 0)
