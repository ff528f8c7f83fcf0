import type { Attribution } from '../../domain/attribution.ts'
import type { Subject } from '../../domain/subject.ts'
import type { Finding } from '../finding.ts'
import { type BuiltInErrorType, findBuiltIn, TIE_ORDER } from '../taxonomy.ts'
import { FACTS, FITTED, type FindingKind, type Fitted, LOCATING } from '../weights.ts'

/** Limits on an answer. */
const MAX_EVIDENCE = 5
const MAX_ALTERNATIVES = 2

/** Caps confidence, because some answers are wrong for reasons that no labeled case has shown. */
const MAX_CONFIDENCE = 0.99

/** Caps the confidence of an answer that isn't based on a decisive fact. */
const MAX_GUESS = 0.49

/** The minimum contribution, in log odds, of a finding that's worth showing and of a decisive fact. */
const MIN_CONTRIBUTION = 0.25
const MIN_DECISIVE = 0.7

/** An error type and its probability. */
interface Candidate {
  errorType: BuiltInErrorType
  probability: number
}

/**
 * The default engine: weighs findings and picks the most likely error type. It needs nothing outside the Worker.
 * `disabled` contains the error types that the project has turned off. At least one type must be enabled. The
 * confidence estimates how likely the answer is to be right, for cases like the ones that the weights were fitted to.
 */
export function attributeByRules(
  subject: Subject,
  findings: readonly Finding[],
  disabled: ReadonlySet<string>,
  fitted: Fitted = FITTED,
): Attribution {
  const strongest = weighable(findings)
  const [best, ...others] = distributionOver(strongest, disabled, fitted)
  if (!best) throw new Error('a project has at least one error type')
  const { errorType } = best
  const weighed = weigh(strongest, errorType, others[0]?.errorType, fitted)
  const isDecided = strongest.some(
    finding => FACTS.has(finding.kind) && contribution(finding, errorType, fitted) >= MIN_DECISIVE,
  )
  const most = isDecided ? MAX_CONFIDENCE : MAX_GUESS
  const confidence = (probability: number) => Math.round(Math.min(probability, most) * 1000) / 1000
  return {
    errorType,
    confidence: confidence(best.probability),
    alternatives: others
      .slice(0, MAX_ALTERNATIVES)
      .map(({ errorType, probability }) => ({ errorType, confidence: confidence(probability) })),
    spanId: blamedSpan(errorType, findings),
    reasoning: reasoningOf(subject, findings, { best, rival: others[0], weighed, isDecided }),
    evidence: weighed.slice(0, MAX_EVIDENCE).map(({ spanId, path, note }) => ({ spanId, path, note })),
    engine: 'rules',
  }
}

/** The strongest finding of each kind, because seeing something twice doesn't make it twice as likely. */
export function weighable(findings: readonly Finding[]): Finding[] {
  const strongest = new Map<string, Finding>()
  for (const finding of findings) {
    const known = strongest.get(finding.kind)
    if (!known || known.strength < finding.strength) strongest.set(finding.kind, finding)
  }
  return [...strongest.values()]
}

/** The probability of each type, highest first: a multinomial logistic regression on the findings' strengths. */
export function distributionOver(
  findings: readonly Finding[],
  disabled: ReadonlySet<string>,
  fitted: Fitted = FITTED,
): Candidate[] {
  const types = TIE_ORDER.filter(errorType => !disabled.has(errorType))
  const scores = types.map(errorType => {
    const score = findings.reduce((sum, finding) => sum + contribution(finding, errorType, fitted), 0)
    return { errorType, odds: Math.exp(score / fitted.temperature) }
  })
  const total = scores.reduce((sum, { odds }) => sum + odds, 0)
  // The sort is stable, so `TIE_ORDER` breaks ties.
  return scores
    .map(({ errorType, odds }) => ({ errorType, probability: odds / total }))
    .sort((left, right) => right.probability - left.probability)
}

/** How much a finding supports a type, in log odds. */
const contribution = ({ kind, strength }: Finding, errorType: BuiltInErrorType, { weights }: Fitted): number =>
  strength * (weights[kind]?.[errorType] ?? 0)

/** The findings that support a type over its rival, heaviest first, one per place. */
function weigh(
  findings: readonly Finding[],
  errorType: BuiltInErrorType,
  rival: BuiltInErrorType | undefined,
  fitted: Fitted,
) {
  const weightOf = (finding: Finding) =>
    contribution(finding, errorType, fitted) - (rival ? Math.max(0, contribution(finding, rival, fitted)) / 2 : 0)
  const sorted = findings
    .filter(finding => weightOf(finding) >= MIN_CONTRIBUTION)
    .toSorted((left, right) => weightOf(right) - weightOf(left))
  return [...Map.groupBy(sorted, ({ spanId, path }) => `${spanId} ${path}`).values()].flatMap(([first]) => first ?? [])
}

/** The span of a finding that locates this type of error, or else the span where the fault first appears. */
function blamedSpan(errorType: BuiltInErrorType, findings: readonly Finding[]): string | null {
  if (errorType === 'unsupported_request') return null
  const kinds: readonly FindingKind[] = [...(LOCATING[errorType] ?? []), 'error_origin']
  for (const kind of kinds) {
    const found = findings.find(finding => finding.kind === kind && finding.spanId !== null)
    if (found) return found.spanId
  }
  return null
}

interface Reasons {
  best: Candidate
  rival: Candidate | undefined
  /** The findings for the answer, heaviest first. */
  weighed: readonly Finding[]
  isDecided: boolean
}

function reasoningOf(
  subject: Subject,
  findings: readonly Finding[],
  { best, rival, weighed, isDecided }: Reasons,
): string {
  const name = nameOf(best.errorType)
  const [first, second] = weighed.map(finding => `${placeOf(finding, subject)} ${finding.note}`)
  const omitted = [...subject.omitted, ...findings.flatMap(({ kind, note }) => (kind === 'left_out' ? [note] : []))]
  const left = omitted.length > 0 ? ` Not checked: ${omitted.join('; ')}.` : ''
  if (!isDecided || !first) {
    const seen = new Set(findings.flatMap(({ kind }) => FACTS.get(kind) ?? []))
    const missing = [...new Set(FACTS.values())].filter(fact => !seen.has(fact))
    const sign = first ? ` ${ended(capitalized(first))}` : ''
    return `The rules looked for ${ALTERNATIVES.format(missing)}, and found none.${sign} So ${name} is only a guess.${left}`
  }
  const also = second ? ` Also, ${ended(second)}` : ''
  const doubt =
    rival && rival.probability > best.probability / 4
      ? ` ${nameOf(rival.errorType)} is also possible (${percent(rival)} vs. ${percent(best)}).`
      : ''
  return `${ended(capitalized(first))}${also} This suggests ${name}.${doubt}${left}`
}

/** Writes a list as in `a, b, or c`. */
const ALTERNATIVES = new Intl.ListFormat('en', { type: 'disjunction' })

const nameOf = (errorType: BuiltInErrorType): string => `"${findBuiltIn(errorType)?.name ?? errorType}"`

/** Ends a string with a period unless it already ends a sentence, even inside a quotation. */
const ended = (text: string): string => (/[.!?]"?$/u.test(text) ? text : `${text}.`)

const percent = ({ probability }: Candidate): string => `${Math.round(probability * 100)}%`
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Describes a finding's place, as in `the output.total of step "extract"`. */
function placeOf({ spanId, path }: Finding, { steps }: Subject): string {
  const [root, ...rest] = path.split('.')
  const step = steps.find(candidate => candidate.spanId === spanId)
  if (root === 'knowledgeDocs') return `the knowledge doc "${rest.join('.')}"`
  if (root === 'feedback') return 'the feedback'
  // Precedents are in other traces.
  if (!step && root === 'approvedOutput') return 'the approvedOutput of another trace'
  return step && !step.isRoot ? `the ${path} of step "${step.stepId}"` : `the ${path} of the trace`
}
