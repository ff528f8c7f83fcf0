import { MAX_REPORTED_FIELDS } from '../limits.ts'
import { type Change, changeFrom } from './change.ts'
import { bucketOf, type DurationHistogram } from './duration-histogram.ts'
import type { TokenUsage } from './model-use.ts'
import { type FieldAgreement, type Outcome, REST_OF_FIELDS } from './outcome.ts'

/** The properties of an experiment's result that a tally counts. */
export interface CountedResult {
  split: string
  /** The error type that reviewers named for the recorded output. */
  errorType: string | null
  outcome: Outcome
  change: Change | null
  /** Empty for an error. */
  fields: readonly FieldAgreement[]
  durationMs: number | null
  usage: TokenUsage | null
  costUsd: number | null
  /** Whether the baseline is right. Null if that's unknown. */
  wasRight: boolean | null
  /** Whether the output means the same as the expected one, according to a model. Null if no model has judged it. */
  saidSame: boolean | null
}

/** How many results had each outcome and change. */
export type OutcomeCounts = Record<Outcome | Change, number>

/** How many results have these properties. */
interface Cell {
  split: string
  errorType: string | null
  outcome: Outcome
  change: Change | null
  count: number
}

/** How many unjudged results have the same judgment by a model. */
interface JudgedCell {
  split: string
  wasRight: boolean | null
  saidSame: boolean
  count: number
}

/** A model's judgments of unjudged results. */
export interface SaidCounts {
  same: number
  different: number
}

/** How many results have a field, and in how many of them it agrees with the expected value. */
interface FieldCounts {
  path: string
  compared: number
  agreed: number
}

/** A sum, and the number of results with a value. */
interface Sum {
  sum: number
  results: number
}

/** A tally as JSON. Lists are sorted, so that equal tallies have the same JSON. */
export interface StoredTally {
  cells: Cell[]
  /** Missing from tallies stored before models judged results. */
  judged?: JudgedCell[]
  /** Up to 200 paths. The others are counted in `restOfFields`, which is null if there are none. */
  fields: FieldCounts[]
  restOfFields: FieldCounts | null
  inputTokens: Sum
  outputTokens: Sum
  totalTokens: Sum
  /** In billionths of a dollar, because sums of whole numbers are exact. That way, subtracting undoes adding. */
  costNanoUsd: Sum
  durations: DurationHistogram
}

/**
 * The counts behind an experiment's report. Results can be added and subtracted in any order. The cost of each change
 * doesn't depend on the number of results.
 *
 * At most 200 paths have field counts: the first ones in string order, so that the order of the results doesn't matter.
 * Once there are 200 paths, a path stays, with counts of 0, even if all its results are subtracted.
 */
export class Tally {
  readonly #cells: Map<string, Cell>
  readonly #judged: Map<string, JudgedCell>
  readonly #fields: FieldTally
  readonly #sums: Record<(typeof SUMS)[number], Sum>
  readonly #durations: Map<string, number>

  constructor(stored?: StoredTally) {
    this.#cells = new Map(stored?.cells.map(cell => [cellKey(cell), { ...cell }]))
    this.#judged = new Map(stored?.judged?.map(cell => [judgedKey(cell), { ...cell }]))
    this.#fields = new FieldTally(stored?.fields ?? [], stored?.restOfFields ?? null)
    this.#sums = {
      inputTokens: { ...(stored?.inputTokens ?? NOTHING) },
      outputTokens: { ...(stored?.outputTokens ?? NOTHING) },
      totalTokens: { ...(stored?.totalTokens ?? NOTHING) },
      costNanoUsd: { ...(stored?.costNanoUsd ?? NOTHING) },
    }
    this.#durations = new Map(Object.entries(stored?.durations ?? {}))
  }

  add(result: CountedResult): void {
    this.#count(result, 1)
  }

  /** Undoes adding an equal result. */
  subtract(result: CountedResult): void {
    this.#count(result, -1)
  }

  #count(result: CountedResult, sign: 1 | -1): void {
    const { split, errorType, outcome, change, usage, costUsd, durationMs, wasRight, saidSame } = result
    countCell(this.#cells, cellKey(result), { split, errorType, outcome, change, count: sign })
    if (outcome === 'unjudged' && saidSame !== null) {
      const cell = { split, wasRight, saidSame, count: sign }
      countCell(this.#judged, judgedKey(cell), cell)
    }
    for (const field of result.fields) this.#fields.count(field, sign)
    if (usage) for (const field of TOKENS) increase(this.#sums[field], usage[field], sign)
    if (costUsd !== null) increase(this.#sums.costNanoUsd, Math.round(costUsd * NANOS), sign)
    if (durationMs !== null) this.#countDuration(String(bucketOf(durationMs)), sign)
  }

  #countDuration(bucket: string, sign: 1 | -1): void {
    const count = (this.#durations.get(bucket) ?? 0) + sign
    if (count === 0) this.#durations.delete(bucket)
    else this.#durations.set(bucket, count)
  }

  /** How many results there are with each outcome and change, in total or in one split. */
  counts(split?: string): OutcomeCounts {
    return countCells([...this.#cells.values()].filter(cell => split === undefined || cell.split === split))
  }

  /** A model's judgments of the unjudged results, in total or in one split. */
  said(split?: string): SaidCounts {
    const cells = this.#judgedIn(split)
    const count = (same: boolean) => cells.reduce((sum, cell) => sum + (cell.saidSame === same ? cell.count : 0), 0)
    return { same: count(true), different: count(false) }
  }

  /** The counts of one split if a model's judgments of unjudged results are assumed to be right. */
  countsAsSaid(split: string): OutcomeCounts {
    const counts = this.counts(split)
    for (const { saidSame, wasRight, count } of this.#judgedIn(split)) {
      const outcome = saidSame ? 'passed' : 'failed'
      const change = changeFrom(wasRight, outcome)
      counts.unjudged -= count
      counts[outcome] += count
      if (change) counts[change] += count
    }
    return counts
  }

  #judgedIn(split: string | undefined): JudgedCell[] {
    return [...this.#judged.values()].filter(cell => split === undefined || cell.split === split)
  }

  /** How many results there are with each outcome and change by split, in the order of their names. */
  bySplit(): { split: string; counts: OutcomeCounts }[] {
    return [...Map.groupBy(this.#sortedCells(), cell => cell.split)].map(([split, cells]) => ({
      split,
      counts: countCells(cells),
    }))
  }

  /**
   * Like `bySplit`, but by the error type of the recorded output, with the most frequent type first. Results without
   * one are left out.
   */
  byErrorType(): { errorType: string; counts: OutcomeCounts }[] {
    const groups = Map.groupBy(this.#sortedCells(), cell => cell.errorType)
    return [...groups]
      .flatMap(([errorType, cells]) => (errorType === null ? [] : { errorType, counts: countCells(cells) }))
      .toSorted((left, right) => countResults(right.counts) - countResults(left.counts))
  }

  #sortedCells(): Cell[] {
    return byKey(this.#cells)
  }

  toJSON(): StoredTally {
    return {
      cells: this.#sortedCells(),
      judged: byKey(this.#judged),
      ...this.#fields.stored,
      ...this.#sums,
      durations: Object.fromEntries([...this.#durations].sort(([left], [right]) => Number(left) - Number(right))),
    }
  }
}

const TOKENS = ['inputTokens', 'outputTokens', 'totalTokens'] as const
const SUMS = [...TOKENS, 'costNanoUsd'] as const
const NOTHING: Sum = { sum: 0, results: 0 }
const NANOS = 1e9

const cellKey = ({ split, errorType, outcome, change }: Omit<Cell, 'count'>): string =>
  JSON.stringify([split, errorType, outcome, change])

const judgedKey = ({ split, wasRight, saidSame }: Omit<JudgedCell, 'count'>): string =>
  JSON.stringify([split, wasRight, saidSame])

/** Adds a cell's count to the count for its key. */
function countCell<Counted extends { count: number }>(cells: Map<string, Counted>, key: string, added: Counted): void {
  const count = (cells.get(key)?.count ?? 0) + added.count
  if (count === 0) cells.delete(key)
  else cells.set(key, { ...added, count })
}

const byKey = <Counted>(cells: ReadonlyMap<string, Counted>): Counted[] =>
  [...cells].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, cell]) => cell)

function increase(sum: Sum, value: number, sign: 1 | -1): void {
  sum.sum += sign * value
  sum.results += sign
}

function countCells(cells: readonly Cell[]): OutcomeCounts {
  const counts: OutcomeCounts = {
    passed: 0,
    failed: 0,
    unjudged: 0,
    error: 0,
    fixed: 0,
    regressed: 0,
    stillRight: 0,
    stillWrong: 0,
  }
  for (const { outcome, change, count } of cells) {
    counts[outcome] += count
    if (change) counts[change] += count
  }
  return counts
}

/** How many results were counted. */
export const countResults = ({ passed, failed, unjudged, error }: OutcomeCounts): number =>
  passed + failed + unjudged + error

/** A tally's counts of fields. */
class FieldTally {
  /** Sorted by path. */
  readonly #named: FieldCounts[]
  #rest: FieldCounts | null

  constructor(named: readonly FieldCounts[], rest: FieldCounts | null) {
    this.#named = named.map(counts => ({ ...counts }))
    this.#rest = rest && { ...rest }
  }

  count({ path, agrees }: FieldAgreement, sign: 1 | -1): void {
    const added = { path, compared: sign, agreed: agrees ? sign : 0 }
    if (path === REST_OF_FIELDS) {
      this.#addToRest(added)
      return
    }
    const index = this.#placeOf(path)
    const known = this.#named[index]
    if (known?.path === path) {
      addCounts(known, added)
      // Once the list has been full, removing a path could make room for another one whose earlier counts are part of
      // the rest.
      if (known.compared === 0 && this.#named.length < MAX_REPORTED_FIELDS) this.#named.splice(index, 1)
    } else if (index === MAX_REPORTED_FIELDS) this.#addToRest(added)
    else {
      this.#named.splice(index, 0, added)
      const last = this.#named.length > MAX_REPORTED_FIELDS ? this.#named.pop() : undefined
      if (last) this.#addToRest(last)
    }
  }

  /** The index of a path, or the index where it would be inserted. */
  #placeOf(path: string): number {
    let [low, high] = [0, this.#named.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#named[middle]?.path ?? '') < path) low = middle + 1
      else high = middle
    }
    return low
  }

  #addToRest(counts: FieldCounts): void {
    this.#rest ??= { path: REST_OF_FIELDS, compared: 0, agreed: 0 }
    addCounts(this.#rest, counts)
    if (this.#rest.compared === 0) this.#rest = null
  }

  get stored(): { fields: FieldCounts[]; restOfFields: FieldCounts | null } {
    return { fields: this.#named, restOfFields: this.#rest }
  }
}

function addCounts(counts: FieldCounts, added: FieldCounts): void {
  counts.compared += added.compared
  counts.agreed += added.agreed
}
