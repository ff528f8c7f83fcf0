import { isJsonObject, type Json } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { RECOVERY } from '../../text/vocabulary.ts'
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
const CUT_OFF = /^(length|max_tokens|max_output_tokens|token_limit|truncated|MAX_TOKENS)$/u

/** Checks metadata, state, and outputs for errors, timeouts, and truncation, and whether the run recovered. */
export function* checkFaults({ subject, root, dispute, origin }: Scene): Generator<Finding> {
  const failures = new Map(subject.steps.map(step => [step, failureOf(step)]))
  for (const [step, failure] of failures) {
    if (!failure) continue
    spend(subject.steps.length)
    const retried = subject.steps.some(
      other =>
        other !== step &&
        other.stepId === step.stepId &&
        other.timestamp >= step.timestamp &&
        !failures.get(other) &&
        !isNothing(other.output),
    )
    const isRoot = step.isRoot && subject.steps.length > 1
    // A trace may have no output because its steps have theirs.
    const ownOutput = isRoot && !step.hasOutput ? (dispute?.step.output ?? step.output) : step.output
    const isBlank = isNothing(ownOutput) || isErrorShaped(ownOutput) || isEcho(step, root) || breaksOff(ownOutput)
    const at = { spanId: step.spanId, path: failure.path }
    if (!retried && !failure.isRecovered && (isBlank || failure.isFallback)) {
      yield {
        kind: failure.isBadRequest ? 'call_rejected' : 'step_failed',
        ...at,
        note: `says ${quote(failure.text)}, and the output ${isNothing(step.output) ? 'is empty' : 'has no answer'}`,
        strength: 1,
      }
    } else if (
      !retried &&
      !failure.isRecovered &&
      !failure.isBadRequest &&
      (step === dispute?.step || step === origin || step.isRoot)
    ) {
      yield { kind: 'failure_unrecovered', ...at, note: `says ${quote(failure.text)}`, strength: 0.7 }
    } else {
      yield {
        kind: 'failure_recovered',
        ...at,
        note: `says ${quote(failure.text)}, but the run recovered from it`,
        strength: 1,
      }
    }
  }
  for (const step of subject.steps) {
    const cut = cutOffAt(step)
    if (cut)
      yield {
        kind: 'cut_off',
        spanId: step.spanId,
        path: cut,
        note: 'says that the output was cut off at its maximum length',
        strength: 1,
      }
  }
  const text = origin.output
  const isFixed = dispute?.approved === undefined || !breaksOff(dispute.approved)
  if (typeof text === 'string' && breaksOff(text) && isFixed) {
    yield {
      kind: 'ends_mid_sentence',
      spanId: origin.spanId,
      path: 'output',
      note: `ends in the middle of a sentence: ${quote(text.slice(-40))}`,
      strength: 1,
    }
  }
  if (!subject.isCompleted) {
    const last = subject.steps.at(-1)
    yield {
      kind: 'run_unfinished',
      spanId: last?.spanId ?? null,
      path: 'output',
      note: 'is the last one recorded: the run never ended',
      strength: 1,
    }
  }
}

/** Whether an output repeats its input, as translators do when they fail. */
const isEcho = ({ input, output }: Step, root: Step): boolean =>
  typeof output === 'string' &&
  output.length > 20 &&
  [...leavesOf([input, root.input], '')].some(([, leaf]) => leaf === output)

/** Whether a string ends abruptly. */
const breaksOff = (output: Json): boolean =>
  typeof output === 'string' &&
  output.length > 60 &&
  /[^\p{P}\p{S}\n]{12}[^\p{P}\p{S}\d\s]$/u.test(output.trimEnd().slice(-ENDING))

/** How much of a string's end to look at, in UTF-16 code units. Some characters take two. */
const ENDING = 40

interface Failure {
  path: string
  text: string
  /** The request was invalid; the service itself didn't fail. */
  isBadRequest: boolean
  /** The step itself says that it recovered. */
  isRecovered: boolean
  /** The step itself says that its answer is a substitute. */
  isFallback: boolean
}

/** The error that a step reports, if any. */
function failureOf(step: Step): Failure | undefined {
  const places: [string, Json][] = [
    ['metadata', step.metadata],
    ...Object.entries(step.state).map(([key, value]): [string, Json] => [`state.${key}`, value]),
  ]
  const leaves = places.flatMap(([path, value]) => [...leavesOf(value, path)])
  const own = isErrorShaped(step.output) ? [...leavesOf(step.output, 'output')] : []
  const found = [...leaves, ...own].find(([path, leaf]) => isFailure(fieldOf(path), path, leaf))
  const isMarked = step.status === 'error'
  const fallback = leaves.find(([path, leaf]) => FALLBACK_FIELD.test(path) && !isNothing(leaf) && leaf !== false)
  if (!found && !isMarked) return undefined
  const [path, leaf] = found ?? ['status', 'error']
  const text = String(leaf)
  const succeeded = leaves.some(
    ([place, value]) =>
      (/recovered|resolved|succeeded|settled/iu.test(place) && value !== false) ||
      (/status|http|result|outcome/iu.test(fieldOf(place)) &&
        (value === 200 || value === 201 || value === 'ok' || value === 'success')) ||
      value === '200',
  )
  const reportsRecovery = leaves.some(([, value]) => {
    if (typeof value !== 'string') return false
    spend(value.length)
    return RECOVERY.test(value)
  })
  return {
    path,
    text,
    isRecovered: succeeded || (reportsRecovery && !isNothing(step.output)),
    isFallback: fallback !== undefined,
    isBadRequest: BAD_REQUEST.test(text) && !FAILURE.test(text),
  }
}

function isFailure(field: string, path: string, leaf: Json): boolean {
  spend(20)
  if (isNothing(leaf) || leaf === false || leaf === 0) return false
  if (typeof leaf === 'number')
    return (CODE_FIELD.test(field) && leaf >= 400 && leaf < 600) || (/exit/iu.test(field) && leaf !== 0)
  if (path.split(/[.[]/u).some(part => ERROR_FIELD.test(part)) && typeof leaf === 'string') return true
  return (
    typeof leaf === 'string' &&
    leaf.length < 300 &&
    /^metadata|log|status|worker|error/iu.test(path) &&
    !path.startsWith('output') &&
    FAILURE.test(leaf)
  )
}

/** Whether an output is itself an error: an object with little besides an error, or an error message. */
export function isErrorShaped(output: Json): boolean {
  if (isJsonObject(output))
    return Object.entries(output).some(
      ([field, value]) =>
        ERROR_FIELD.test(field) && !isNothing(value) && typeof value !== 'number' && typeof value !== 'boolean',
    )
  return (
    typeof output === 'string' &&
    output.length < 200 &&
    /^(error|exception|traceback|internal server error|\d{3} )/iu.test(output)
  )
}

function cutOffAt(step: Step): string | undefined {
  const leaves = [...leavesOf(step.metadata, 'metadata')]
  const found = leaves.find(
    ([path, leaf]) =>
      (/finish|stop|reason/iu.test(fieldOf(path)) && typeof leaf === 'string' && CUT_OFF.test(leaf)) ||
      (/truncated|cut_off/iu.test(fieldOf(path)) && leaf === true),
  )
  if (found) return found[0]
  const limit = leaves.find(([path]) => /^max.*tokens/iu.test(fieldOf(path)))
  const used = leaves.find(([path]) => /^(tokens_out|output_tokens|completion_tokens)$/iu.test(fieldOf(path)))
  return limit && used && limit[1] === used[1] ? used[0] : undefined
}
