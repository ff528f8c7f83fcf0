import { MAX_PATTERN_CACHE, MAX_PATTERN_DEPTH, MAX_PATTERN_LOOKS } from '../../limits.ts'
import type { Budget } from './budget.ts'

/*
 * Regular expressions as JSON Schema defines them (ECMA-262 with the flag `u`), in time linear in the text's length. A
 * pattern runs as an automaton that reads each character once. The built-in engine backtracks, and can take hours for a
 * few dozen characters; here it only validates patterns and tests which characters belong to a class.
 */

/** Why a pattern can't be used. */
export class PatternFault extends Error {}

/** A compiled regular expression. */
export interface Pattern {
  /** Whether any part of a string matches. Throws `TooCostly` if the budget runs out. */
  test: (text: string, budget: Budget) => boolean
}

/**
 * Compiles a regular expression. `grow` is called for each state of the automaton and may throw, since `a{1000}` has a
 * thousand states. Throws a `PatternFault` for invalid expressions, back-references, modifiers, and deep nesting.
 */
export function compilePattern(source: string, grow: () => void): Pattern {
  try {
    new RegExp(source, 'u')
  } catch {
    throw new PatternFault('is not a regular expression')
  }
  const parser = new Parser(source)
  const tree = parser.alternatives()
  // A nested lookaround is parsed before the one that contains it, so its result is already known.
  const looks = parser.looks.map(({ tree: inner, isAhead }) => new Automaton(inner, isAhead, grow))
  const whole = new Automaton(tree, false, grow)
  const test = (text: string, budget: Budget): boolean => {
    const truths = looks.length === 0 ? undefined : new Uint8Array(text.length + 1)
    for (const [index, look] of looks.entries()) {
      look.run(text, truths, budget, position => {
        if (truths) truths[position] = (truths[position] ?? 0) | (1 << index)
        return false
      })
    }
    return whole.run(text, truths, budget, () => true)
  }
  return { test }
}

/** Conditions at a position between two characters, as bits. Higher bits are lookarounds. */
const START = 1
const END = 2
const WORD_EDGE = 4
const LOOKS_FROM = 3

type Tree =
  | { kind: 'character'; source: string }
  | { kind: 'sequence'; items: Tree[] }
  | { kind: 'choice'; items: Tree[] }
  | { kind: 'repeat'; item: Tree; min: number; max: number }
  | { kind: 'assertion'; bit: number; isNegated: boolean }

/** Parses an expression that the built-in engine has accepted. */
class Parser {
  readonly looks: { tree: Tree; isAhead: boolean }[] = []
  readonly #source: string
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  alternatives(): Tree {
    if (++this.#depth > MAX_PATTERN_DEPTH) throw new PatternFault(`nests deeper than ${MAX_PATTERN_DEPTH} levels`)
    const items = [this.#sequence()]
    while (this.#take(/\|/y)) items.push(this.#sequence())
    this.#depth--
    return items.length === 1 && items[0] ? items[0] : { kind: 'choice', items }
  }

  #sequence(): Tree {
    const items: Tree[] = []
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at] ?? '')) items.push(this.#term())
    return { kind: 'sequence', items }
  }

  #term(): Tree {
    const item = this.#atom()
    const quantifier = this.#take(/([*+?]|\{(\d+)(,?)(\d*)\})\??/y)
    if (!quantifier) return item
    const [, sign, from, comma, to] = quantifier
    if (sign === '*') return { kind: 'repeat', item, min: 0, max: Number.POSITIVE_INFINITY }
    if (sign === '+') return { kind: 'repeat', item, min: 1, max: Number.POSITIVE_INFINITY }
    if (sign === '?') return { kind: 'repeat', item, min: 0, max: 1 }
    const min = Number(from)
    return { kind: 'repeat', item, min, max: to ? Number(to) : comma ? Number.POSITIVE_INFINITY : min }
  }

  #atom(): Tree {
    if (this.#take(/\^/y)) return { kind: 'assertion', bit: START, isNegated: false }
    if (this.#take(/\$/y)) return { kind: 'assertion', bit: END, isNegated: false }
    const edge = this.#take(/\\([bB])/y)
    if (edge) return { kind: 'assertion', bit: WORD_EDGE, isNegated: edge[1] === 'B' }
    if (this.#take(/\\(?:[1-9]|k)/y)) throw new PatternFault('refers back to a group, which is not supported')
    const look = this.#take(/\(\?(<?)([=!])/y)
    if (look) return this.#look(look[1] === '', look[2] === '!')
    if (this.#take(/\((?:\?:|\?<[^=!>][^>]*>|(?!\?))/y)) {
      const inner = this.alternatives()
      this.#take(/\)/y)
      return inner
    }
    if (this.#take(/\(/y)) throw new PatternFault('changes its flags, which is not supported')
    const character = this.#take(CHARACTER)
    if (!character) throw new PatternFault('is not a regular expression')
    return { kind: 'character', source: character[0] }
  }

  #look(isAhead: boolean, isNegated: boolean): Tree {
    const tree = this.alternatives()
    this.#take(/\)/y)
    if (this.looks.push({ tree, isAhead }) > MAX_PATTERN_LOOKS)
      throw new PatternFault(`has more than ${MAX_PATTERN_LOOKS} lookarounds`)
    return { kind: 'assertion', bit: 1 << (this.looks.length - 1 + LOOKS_FROM), isNegated }
  }

  #take(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.#at
    const taken = sticky.exec(this.#source)
    if (taken) this.#at += taken[0].length
    return taken
  }
}

/** A character or a class: `[…]`, an escape (a surrogate pair is one character), or the character itself. */
const CHARACTER =
  /\[(?:\\[\s\S]|[^\]\\])*\]|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]+\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[a-zA-Z]|\\[pP]\{[^}]*\}|\\[\s\S]|[\s\S]/uy

/**
 * A state: a character set that leads to `next`, a condition that leads there without a character, a split, or a match.
 */
type State =
  | { kind: 'character'; set: number; next: number }
  | { kind: 'split'; next: number; other: number }
  | { kind: 'assertion'; bit: number; isNegated: boolean; next: number }
  | { kind: 'match' }

/** The set of states an automaton may be in, and the next set for each character. */
interface Situation {
  states: readonly number[]
  /** By the conditions at the position, then by the character's class. */
  edges: (Edge | undefined)[][]
}

interface Edge {
  isMatch: boolean
  next: Situation
}

/** The class for the end of the text, where there is no character. */
const NOTHING = 0

/** A nondeterministic automaton. It caches its situations, so that most characters cost only a lookup. */
class Automaton {
  readonly #isBackward: boolean
  readonly #grow: () => void
  readonly #states: State[] = [{ kind: 'match' }]
  readonly #start: number
  /** One-character regular expressions, and their indexes by source. */
  readonly #sets: RegExp[] = []
  readonly #setOf = new Map<string, number>()
  /** The condition bits that this automaton tests. */
  #bits = 0
  /** Characters that every set treats alike share a class. */
  readonly #classOf = new Map<number, number>()
  readonly #classOfAscii: (number | undefined)[] = []
  readonly #setsOfClass: Uint8Array[] = [new Uint8Array()]
  readonly #classes = new Map<string, number>()
  readonly #situations = new Map<string, Situation>()
  /** The situation without states, where every run starts. */
  #first: Situation | undefined
  #remembered = 0
  /** For each state, the number of the visit that last reached it. */
  #visits = new Uint32Array()
  #visit = 0

  /** `isBackward` makes the automaton read the text from its end, for the same tree. */
  constructor(tree: Tree, isBackward: boolean, grow: () => void) {
    this.#isBackward = isBackward
    this.#grow = grow
    this.#start = this.#add(tree, 0)
  }

  /**
   * Runs over a string and calls `found` at each position where a match ends, wherever it began. Stops and returns true
   * once `found` returns true.
   */
  run(text: string, truths: Uint8Array | undefined, budget: Budget, found: (position: number) => boolean): boolean {
    budget.spend(1 + text.length * COST.character)
    const { length } = text
    this.#first ??= this.#situation([])
    let situation = this.#first
    let position = this.#isBackward ? length : 0
    for (;;) {
      const isAtEnd = position === (this.#isBackward ? 0 : length)
      const code = isAtEnd ? -1 : this.#isBackward ? codeBefore(text, position) : (text.codePointAt(position) ?? -1)
      const characterClass = isAtEnd ? NOTHING : this.#classFor(code, budget)
      const bits = this.#bits === 0 ? 0 : this.#bits & bitsAt(text, position, truths, this.#bits)
      const edge = situation.edges[bits]?.[characterClass] ?? this.#lead(situation, bits, characterClass, budget)
      if (edge.isMatch && found(position)) return true
      if (isAtEnd) return false
      situation = edge.next
      position += (code > 0xffff ? 2 : 1) * (this.#isBackward ? -1 : 1)
    }
  }

  /** Adds the states of a tree that continue at `next`. Returns the index of the first state. */
  #add(tree: Tree, next: number): number {
    // Counted even if it adds no state, as in a thousand empty groups.
    this.#grow()
    switch (tree.kind) {
      case 'character':
        return this.#push({ kind: 'character', set: this.#setFor(tree.source), next })
      case 'assertion':
        this.#bits |= tree.bit
        return this.#push({ kind: 'assertion', bit: tree.bit, isNegated: tree.isNegated, next })
      case 'sequence': {
        const items = this.#isBackward ? tree.items : tree.items.toReversed()
        return items.reduce((after, item) => this.#add(item, after), next)
      }
      case 'choice':
        return tree.items
          .map(item => this.#add(item, next))
          .reduce((other, first) => this.#push({ kind: 'split', next: first, other }))
      case 'repeat':
        return this.#addRepeat(tree, next)
    }
  }

  #addRepeat({ item, min, max }: { item: Tree; min: number; max: number }, next: number): number {
    let start = next
    if (max === Number.POSITIVE_INFINITY) {
      const loop: State = { kind: 'split', next: 0, other: next }
      start = this.#push(loop)
      loop.next = this.#add(item, start)
    } else {
      for (let count = min; count < max; count++)
        start = this.#push({ kind: 'split', next: this.#add(item, start), other: next })
    }
    for (let count = 0; count < min; count++) start = this.#add(item, start)
    return start
  }

  #push(state: State): number {
    this.#grow()
    return this.#states.push(state) - 1
  }

  #setFor(source: string): number {
    const known = this.#setOf.get(source)
    if (known !== undefined) return known
    this.#setOf.set(source, this.#sets.length)
    return this.#sets.push(new RegExp(`^${source}$`, 'u')) - 1
  }

  #classFor(code: number, budget: Budget): number {
    const known = code < 128 ? this.#classOfAscii[code] : this.#classOf.get(code)
    if (known !== undefined) return known
    budget.spend(COST.classification + this.#sets.length * COST.set)
    const character = String.fromCodePoint(code)
    const memberships = Uint8Array.from(this.#sets, set => Number(set.test(character)))
    const key = memberships.join('')
    const found = this.#classes.get(key) ?? this.#setsOfClass.push(memberships) - 1
    this.#classes.set(key, found)
    if (this.#classOf.size >= MAX_PATTERN_CACHE) this.#classOf.clear()
    if (code < 128) this.#classOfAscii[code] = found
    else this.#classOf.set(code, found)
    return found
  }

  #situation(states: readonly number[]): Situation {
    const key = states.join()
    const known = this.#situations.get(key)
    if (known) return known
    this.#remembered += states.length + 1
    if (this.#remembered > MAX_PATTERN_CACHE) {
      this.#situations.clear()
      this.#first = undefined
      this.#remembered = states.length + 1
    }
    const added: Situation = { states, edges: [] }
    this.#situations.set(key, added)
    return added
  }

  /** Computes the next situation for a class of characters, and caches it. */
  #lead(situation: Situation, bits: number, characterClass: number, budget: Budget): Edge {
    budget.spend(COST.lead)
    this.#remembered++
    if (this.#visits.length !== this.#states.length) this.#visits = new Uint32Array(this.#states.length)
    this.#visit++
    const memberships = this.#setsOfClass[characterClass]
    const open = [...situation.states, this.#start]
    const after = new Set<number>()
    let isMatch = false
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (this.#visits[index] === this.#visit) continue
      this.#visits[index] = this.#visit
      budget.spend(COST.state)
      const state = this.#states[index]
      if (state?.kind === 'match') isMatch = true
      else if (state?.kind === 'split') open.push(state.next, state.other)
      else if (state?.kind === 'assertion') {
        if (((bits & state.bit) !== 0) !== state.isNegated) open.push(state.next)
      } else if (state && memberships?.[state.set]) after.add(state.next)
    }
    const edge = { isMatch, next: this.#situation([...after].sort((left, right) => left - right)) }
    const edges = situation.edges[bits] ?? []
    situation.edges[bits] = edges
    edges[characterClass] = edge
    return edge
  }
}

/** In operations of the budget. */
const COST = {
  /** A character with a cached edge. */
  character: 1 / 2,
  /** Computing an edge, and each state visited for it. */
  lead: 20,
  state: 3,
  /** Finding a character's class, and each set tested for it. */
  classification: 10,
  set: 4,
}

function bitsAt(text: string, position: number, truths: Uint8Array | undefined, wanted: number): number {
  let bits = (truths?.[position] ?? 0) << LOOKS_FROM
  if (position === 0) bits |= START
  if (position === text.length) bits |= END
  if (wanted & WORD_EDGE && isWordAt(text, position - 1) !== isWordAt(text, position)) bits |= WORD_EDGE
  return bits
}

function isWordAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95
}

/** The character that ends at a position. Half of a surrogate pair only if the other half is missing. */
function codeBefore(text: string, position: number): number {
  const pair = position > 1 ? (text.codePointAt(position - 2) ?? 0) : 0
  return pair > 0xffff ? pair : text.charCodeAt(position - 1)
}
