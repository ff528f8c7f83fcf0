import { MAX_EVALUATOR_PATH_BYTES, MAX_EVALUATOR_PATHS, MAX_JSON_DEPTH } from '../limits.ts'
import { utf8Length } from './text.ts'

/** The ways to compare an output. */
export const COMPARISONS = ['exact', 'fields', 'text', 'number'] as const

/** The ways to compare a part of an output. */
export const RULE_TYPES = [...COMPARISONS, 'ignore'] as const

/**
 * How to compare the part of an output that the rule is for:
 * - `exact`: as JSON. Strings must match character by character.
 * - `text`: strings may differ in whitespace and case, but not in anything else: there's no Unicode normalization.
 *   Other values must be equal.
 * - `fields`: each leaf like `text`. Strings that the step's schema lists in an `enum` or a `const` must be the same.
 * - `number`: like `fields`, but two numbers may be up to `tolerance` apart. If there's no tolerance, they must be
 *   equal.
 * - `ignore`: not at all. The part may differ or be missing.
 */
export interface Rule {
  type: (typeof RULE_TYPES)[number]
  /** Only for `number`. At least 0. */
  tolerance?: number | undefined
}

/**
 * How to compare a step's outputs with what's expected: one rule for the whole output, by default `fields`, and other
 * rules for parts of it. `{}` is the default, and `{paths: {total: {type: 'number', tolerance: 0.01}}}` differs from it
 * in one part.
 *
 * A path has the fields and indexes that lead to a part, joined by dots: `items.0.price`. The step `*` matches any
 * field or index: `items.*.price`. A backslash before a dot, star, or backslash makes that character part of a field's
 * name: `versions.1\.0`. A rule applies to everything in its part, unless a longer path has its own rule. If two paths
 * lead to the same part, the one that has a name where the other has its first `*` wins.
 */
export interface Evaluator {
  type?: (typeof COMPARISONS)[number] | undefined
  tolerance?: number | undefined
  paths?: Readonly<Record<string, Rule>> | undefined
}

/** The reasons why an evaluator can't be used, each with the fields that lead to its place. Empty if there are none. */
export function evaluatorFaults(evaluator: Evaluator): { path: string[]; message: string }[] {
  const paths = Object.entries(evaluator.paths ?? {})
  if (paths.length > MAX_EVALUATOR_PATHS) {
    return [{ path: ['paths'], message: `must have at most ${MAX_EVALUATOR_PATHS} paths` }]
  }
  return [
    ...toleranceFaults(evaluator, []),
    ...paths.flatMap(([path, rule]) => {
      const message = pathFault(path)
      const ofRule = toleranceFaults(rule, ['paths', path])
      return message === undefined ? ofRule : [{ path: ['paths', path], message }, ...ofRule]
    }),
  ]
}

const toleranceFaults = ({ type, tolerance }: Evaluator | Rule, place: string[]) =>
  tolerance === undefined || type === 'number'
    ? []
    : [{ path: [...place, 'tolerance'], message: 'is allowed only if `type` is `number`' }]

function pathFault(path: string): string | undefined {
  if (path === '') return 'must name a part of the output'
  if (utf8Length(path) > MAX_EVALUATOR_PATH_BYTES) return `must have at most ${MAX_EVALUATOR_PATH_BYTES} bytes`
  if (stepsOf(path).length > MAX_JSON_DEPTH) return `must have at most ${MAX_JSON_DEPTH} steps`
  return /^(?:[^\\]|\\[\\.*])*$/u.test(path) ? undefined : 'may have a backslash only before a dot, star, or backslash'
}

/** Matches any field or index. */
const ANY = Symbol('any')

/** A path's steps. The inverse of joining names with `escapeStep`. */
function stepsOf(path: string): (string | typeof ANY)[] {
  const steps: (string | typeof ANY)[] = []
  let step = ''
  let isEscaped = false
  for (let index = 0; index < path.length; index++) {
    const character = path[index]
    if (character === '\\') {
      step += path[++index] ?? ''
      isEscaped = true
    } else if (character === '.') {
      steps.push(step === '*' && !isEscaped ? ANY : step)
      step = ''
      isEscaped = false
    } else step += character
  }
  return [...steps, step === '*' && !isEscaped ? ANY : step]
}

/** A field's name as a step of a path. */
export const escapeStep = (name: string): string => name.replace(/[\\.*]/g, '\\$&')

interface RuleNode {
  rule?: Rule
  named: Map<string, RuleNode>
  any?: RuleNode
}

const newNode = (): RuleNode => ({ named: new Map() })

/** The rule for a part of an output. The rules for its own parts follow from it. */
export class Rules {
  readonly rule: Rule
  /** The nodes that this part matches, the most specific first. At most one per path of the evaluator. */
  readonly #nodes: readonly RuleNode[]

  private constructor(rule: Rule, nodes: readonly RuleNode[]) {
    this.rule = rule
    this.#nodes = nodes
  }

  /** The rules of an evaluator, for a whole output. */
  static of(evaluator: Evaluator): Rules {
    const root = newNode()
    for (const [path, rule] of Object.entries(evaluator.paths ?? {})) nodeAt(root, path).rule = rule
    return new Rules({ type: evaluator.type ?? 'fields', tolerance: evaluator.tolerance }, [root])
  }

  /** Whether nothing in this part is compared. */
  get isIgnored(): boolean {
    return this.rule.type === 'ignore' && this.#nodes.every(({ named, any }) => named.size === 0 && !any)
  }

  /** The rules for a field or an item. */
  within(step: string): Rules {
    if (this.#nodes.length === 0) return this
    const nodes = this.#nodes.flatMap(({ named, any }) => [named.get(step) ?? [], any ?? []].flat())
    return new Rules(nodes.find(({ rule }) => rule)?.rule ?? this.rule, nodes)
  }
}

function nodeAt(root: RuleNode, path: string): RuleNode {
  let node = root
  for (const step of stepsOf(path)) {
    if (step === ANY) {
      node.any ??= newNode()
      node = node.any
    } else {
      const next = node.named.get(step) ?? newNode()
      node.named.set(step, next)
      node = next
    }
  }
  return node
}
