/** The experiment's budget has no room for another call. */
export class BudgetUsedUp extends Error {
  constructor() {
    super("the experiment's budget is used up")
    this.name = 'BudgetUsedUp'
  }
}

/**
 * The budget of a run, in billionths of a dollar. Before a call is made, the most that it can cost is reserved.
 * Afterward, only its actual cost stays reserved. So the budget is never exceeded.
 */
export class Budget {
  readonly #most: number
  readonly #save: (total: number) => Promise<void>
  #total: number
  #inFlight = 0
  #saving: Promise<void> = Promise.resolve()
  #settled = Promise.withResolvers<void>()

  /** `total` is the cost of earlier calls. `save` stores the total, and throws if the run may not continue. */
  constructor({ most, total }: { most: number | null; total: number }, save: (total: number) => Promise<void>) {
    this.#most = most ?? Number.POSITIVE_INFINITY
    this.#total = total
    this.#save = save
  }

  /**
   * Reserves the cost of a call and stores it. Waits for calls in flight if they may leave enough of the budget.
   *
   * @throws {BudgetUsedUp} If the call doesn't fit.
   */
  async reserve(bound: number): Promise<void> {
    while (this.#total + bound > this.#most) {
      if (this.#inFlight === 0) throw new BudgetUsedUp()
      await this.#settled.promise
    }
    this.#total += bound
    this.#inFlight++
    try {
      await this.save()
    } catch (error) {
      this.settle(bound, 0)
      throw error
    }
  }

  /** Replaces a call's reservation with its actual cost. Keeps the reservation if the cost is unknown. */
  settle(bound: number, cost: number | null): void {
    this.#total += (cost ?? bound) - bound
    this.#inFlight--
    this.#settled.resolve()
    this.#settled = Promise.withResolvers()
  }

  /** Stores the total. Only one write runs at a time, because an earlier total must not replace a later one. */
  save(): Promise<void> {
    const saved = this.#saving.then(() => this.#save(this.#total))
    this.#saving = saved.catch(() => {})
    return saved
  }
}
