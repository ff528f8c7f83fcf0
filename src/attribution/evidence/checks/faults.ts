import { isJsonObject, type Json } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { isNothing } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { fieldOf, leavesOf, quote } from '../sources.ts'

const FAILURE =
  /time[- _]?d?[- _]?out|rate[- _]?limit|unavailable|unreachable|overload|throttl|too many requests|quota|ECONN|ETIMEDOUT|EPIPE|socket|connection (reset|refused|closed|error|lost)|closed the connection|terminated|disconnected|upstream|gateway|out of memory|\boom\b|killed|crash|segfault|internal (server )?error|cancell?ed|aborted|no response|deadline|\b(429|50[0-4]|529)\b/iu
const BAD_REQUEST =
  /invalid|missing|required|unknown|\bunexpected\b|not allowed|does not exist|no such|malformed|must be|validation|schema|syntax|parse|\bexpected\b|unsupported|bad request|not found|\b(400|404|405|409|415|422)\b/iu
const ERROR_FIELD =
  /^(errors?|err|exceptions?|last_error|failure|fault|traceback|stack|crash)$|(?<!on)_error$|^error_(?!rate|count)/iu
const CODE_FIELD = /status|http|code|response|attempt/iu
const FALLBACK_FIELD = /fallback|degraded|default_used|canned|static_text|placeholder/iu
const CUT_OFF = /^(length|max_tokens|max_output_tokens|token_limit|truncated)$/iu

/** Checks metadata, state, and outputs for errors without an answer, truncation, and a run that never ended. */
export function* checkFaults({ subject, dispute }: Scene): Generator<Finding> {
  const { steps } = subject
  const failures = new Map(steps.map(step => [step, failureOf(step)]))
  for (const [step, failure] of failures) {
    if (!failure) continue
    spend(steps.length)
    const isRetried = steps.some(
      other =>
        other !== step &&
        other.stepId === step.stepId &&
        other.timestamp >= step.timestamp &&
        !failures.get(other) &&
        !isNothing(other.output),
    )
    // A trace may have no output of its own because its steps have outputs.
    const output = step.isRoot && !step.hasOutput ? (dispute?.step.output ?? null) : step.output
    if (isRetried || !(isNothing(output) || isErrorShaped(output) || failure.isFallback)) continue
    const note = `says ${quote(failure.text)}, and the output ${isNothing(step.output) ? 'is empty' : 'has no answer'}`
    yield { kind: 'step_failed', spanId: step.spanId, path: failure.path, note, strength: 1 }
  }
  for (const step of steps) {
    const path = cutOffAt(step)
    const note = 'says that the output was cut off at its maximum length'
    if (path) yield { kind: 'cut_off', spanId: step.spanId, path, note, strength: 1 }
  }
  if (subject.isCompleted) return
  const note = 'is the last one recorded, and the run never ended'
  yield { kind: 'run_unfinished', spanId: steps.at(-1)?.spanId ?? null, path: 'output', note, strength: 1 }
}

/** The error that a step reports, if any. */
function failureOf({ metadata, state, output, status }: Step) {
  const places: [string, Json][] = [
    ['metadata', metadata],
    ...Object.entries(state).map(([key, value]): [string, Json] => [`state.${key}`, value]),
  ]
  const leaves = places.flatMap(([path, value]) => [...leavesOf(value, path)])
  const own = isErrorShaped(output) ? [...leavesOf(output, 'output')] : []
  const found = [...leaves, ...own].find(([path, leaf]) => isFailure(fieldOf(path), path, leaf))
  if (!found && status !== 'error') return undefined
  const [path, leaf] = found ?? ['status', 'error']
  // The request was invalid; the service itself didn't fail.
  if (BAD_REQUEST.test(String(leaf)) && !FAILURE.test(String(leaf))) return undefined
  return {
    path,
    text: String(leaf),
    /** The step itself says that its answer is a substitute. */
    isFallback: leaves.some(([place, value]) => FALLBACK_FIELD.test(place) && !isNothing(value) && value !== false),
  }
}

function isFailure(field: string, path: string, leaf: Json): boolean {
  spend(20)
  if (isNothing(leaf) || leaf === false || leaf === 0) return false
  if (typeof leaf === 'number')
    return (CODE_FIELD.test(field) && leaf >= 400 && leaf < 600) || (/exit/iu.test(field) && leaf !== 0)
  if (typeof leaf !== 'string') return false
  if (path.split(/[.[]/u).some(part => ERROR_FIELD.test(part))) return true
  const isReport = /^metadata|log|status|worker|error/iu.test(path) && !path.startsWith('output')
  return isReport && leaf.length < 300 && FAILURE.test(leaf)
}

/** Whether an output is itself an error. */
const isErrorShaped = (output: Json): boolean =>
  isJsonObject(output) &&
  Object.entries(output).some(
    ([field, value]) =>
      ERROR_FIELD.test(field) && !isNothing(value) && typeof value !== 'number' && typeof value !== 'boolean',
  )

function cutOffAt(step: Step): string | undefined {
  const found = [...leavesOf(step.metadata, 'metadata')].find(
    ([path, leaf]) =>
      (/finish|stop|reason/iu.test(fieldOf(path)) && typeof leaf === 'string' && CUT_OFF.test(leaf)) ||
      (/truncated|cut_off/iu.test(fieldOf(path)) && leaf === true),
  )
  return found?.[0]
}
