import type { Attribution } from '../../domain/attribution.ts'
import type { Subject } from '../../domain/subject.ts'
import type { Finding } from '../finding.ts'
import { type BuiltInErrorType, TAXONOMY, TIE_ORDER } from '../taxonomy.ts'
import { EXPLAINED_BY, type FindingKind, LOCATING, TEMPERATURE, WEIGHTS, type Weights } from '../weights.ts'

/** Limits of an answer. */
const MAX_EVIDENCE = 5
const MAX_ALTERNATIVES = 2

/** An error type and its probability. */
interface Candidate {
  errorType: BuiltInErrorType
  probability: number
}

/**
 * The default engine: weighs findings and picks the most likely error type. It needs nothing outside the Worker.
 * `disabled` holds the error types that the project has turned off; at least one must be enabled. The confidence
 * estimates how likely the answer is to be right, for cases like those that the weights were fitted to.
 */
export function attributeByRules(
  subject: Subject,
  findings: readonly Finding[],
  disabled: ReadonlySet<string>,
): Attribution {
  const strongest = weighable(findings)
  const candidates = distributionOver(strongest, disabled)
  const [best, ...others] = candidates
  if (!best) throw new Error('a project has at least one error type')
  const { errorType } = best
  const weighed = weigh(strongest, errorType, others[0]?.errorType)
  return {
    errorType,
    confidence: rounded(best.probability),
    alternatives: others
      .slice(0, MAX_ALTERNATIVES)
      .map(({ errorType, probability }) => ({ errorType, confidence: rounded(probability) })),
    spanId: blamedSpan(errorType, findings),
    reasoning: reasoningOf(subject, findings, candidates, weighed),
    evidence: weighed.slice(0, MAX_EVIDENCE).map(({ spanId, path, note }) => ({ spanId, path, note })),
    engine: 'rules',
  }
}

/** Caps confidence, because some answers are wrong for reasons that no labeled case has shown. */
const MAX_CONFIDENCE = 0.99

const rounded = (probability: number): number => Math.round(Math.min(probability, MAX_CONFIDENCE) * 1000) / 1000

/**
 * The strongest finding of each kind, because seeing something twice doesn't make it twice as likely. Findings that
 * follow from another one are dropped.
 */
export function weighable(findings: readonly Finding[]): Finding[] {
  const strongest = strongestOf(findings)
  const explained = new Set(strongest.flatMap(({ kind }): readonly FindingKind[] => EXPLAINED_BY[kind] ?? []))
  return strongest.filter(({ kind }) => !explained.has(kind))
}

function strongestOf(findings: readonly Finding[]): Finding[] {
  const strongest = new Map<string, Finding>()
  for (const finding of findings) {
    const known = strongest.get(finding.kind)
    if (!known || known.strength < finding.strength) strongest.set(finding.kind, finding)
  }
  return [...strongest.values()]
}

/** The probability of each type, highest first: a multinomial logistic regression on the findings' strengths. */
export function distributionOver(findings: readonly Finding[], disabled: ReadonlySet<string>): Candidate[] {
  const types = TIE_ORDER.filter(errorType => !disabled.has(errorType))
  const scores = types.map(errorType => {
    const score = findings.reduce((sum, { kind, strength }) => sum + strength * weightOf(kind, errorType), 0)
    return { errorType, odds: Math.exp(score / TEMPERATURE) }
  })
  const total = scores.reduce((sum, { odds }) => sum + odds, 0)
  // The sort is stable, so ties keep the tie order.
  return scores
    .map(({ errorType, odds }) => ({ errorType, probability: odds / total }))
    .sort((left, right) => right.probability - left.probability)
}

function weightOf(kind: FindingKind, errorType: BuiltInErrorType): number {
  const row: Weights = WEIGHTS[kind]
  return row[errorType] ?? 0
}

/** The minimum contribution, in log odds, of a finding worth showing. */
const MIN_CONTRIBUTION = 0.25

/** The findings that support a type over its rival, heaviest first, one per place. */
function weigh(
  findings: readonly Finding[],
  errorType: BuiltInErrorType,
  rival: BuiltInErrorType | undefined,
): Finding[] {
  const weightIn = ({ kind, strength }: Finding) => {
    const own = weightOf(kind, errorType)
    return strength * (own - (rival ? Math.max(0, weightOf(kind, rival)) / 2 : 0))
  }
  const places = new Set<string>()
  return findings
    .filter(finding => weightIn(finding) >= MIN_CONTRIBUTION)
    .toSorted((left, right) => weightIn(right) - weightIn(left))
    .filter(({ spanId, path }) => {
      const place = `${spanId} ${path}`
      return !places.has(place) && places.add(place)
    })
}

/** The span of a finding that locates this type of error, or else the span where the fault first appears. */
function blamedSpan(errorType: BuiltInErrorType, findings: readonly Finding[]): string | null {
  if (errorType === 'unsupported_request') return null
  const kinds: readonly FindingKind[] = [...(LOCATING[errorType] ?? []), 'error_origin']
  for (const kind of kinds) {
    const [found] = findings.filter(finding => finding.kind === kind && finding.spanId !== null)
    if (found) return found.spanId
  }
  return null
}

function reasoningOf(
  subject: Subject,
  findings: readonly Finding[],
  [best, next]: readonly Candidate[],
  weighed: readonly Finding[],
): string {
  if (!best) return ''
  const name = nameOf(best.errorType)
  const [first, second] = weighed.map(finding => `${placeOf(finding, subject)} ${finding.note}`)
  const omitted = [...subject.omitted, ...findings.flatMap(({ kind, note }) => (kind === 'left_out' ? [note] : []))]
  const left = omitted.length > 0 ? ` Not checked: ${omitted.join('; ')}.` : ''
  if (!first) {
    return `Nothing in the trace shows what went wrong, so ${name} is only a guess. A correction or a comment on the step would help.${left}`
  }
  const also = second ? ` Also, ${ended(second)}` : ''
  const doubt =
    next && next.probability > best.probability / 4
      ? ` ${capitalized(nameOf(next.errorType))} is also possible (${percent(next.probability)} vs. ${percent(best.probability)}).`
      : ''
  return `${ended(capitalized(first))}${also} This suggests ${name}.${doubt}${left}`
}

const nameOf = (errorType: BuiltInErrorType): string =>
  (TAXONOMY.find(type => type.errorType === errorType)?.name ?? errorType).toLowerCase()

/** Ends a string with a period unless it already ends a sentence, even inside a quotation. */
const ended = (text: string): string => (/[.!?]"?$/u.test(text) ? text : `${text}.`)

const percent = (share: number): string => `${Math.round(share * 100)}%`
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Describes a finding's place, as in `the output.total of step "extract"`. */
function placeOf({ spanId, path }: Finding, { steps }: Subject): string {
  const [root, ...rest] = path.split('.')
  const step = steps.find(candidate => candidate.spanId === spanId)
  if (root === 'knowledgeDocs') return `the knowledge doc "${rest.join('.')}"`
  if (root === 'feedback') return 'the feedback'
  return step && !step.isRoot ? `the ${path} of step "${step.stepId}"` : `the ${path} of the trace`
}
