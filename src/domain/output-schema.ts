import { LENGTH_PER_TURN } from '../limits.ts'
import type { Json } from './json.ts'
import { Budget, TooCostly } from './json-schema/budget.ts'
import { findFaults, Unappliable } from './json-schema/check.ts'
import { type Compiled, compileSchema, type SchemaError } from './json-schema/compile.ts'
import { atOnce, type Work } from './turns.ts'

/** A place where a value violates a schema. */
export interface SchemaFault {
  path: string
  message: string
}

/** The result of a check: the value's faults (none if it's valid), or the reason why it can't be checked. */
export type CheckResult = { faults: SchemaFault[] } | { unchecked: string }

/** Checks a value given as JSON. The paths of its faults begin with `field`. */
export type OutputCheck = (json: string, field: string, budget?: Budget) => CheckResult

/**
 * Returns a check of a step's outputs against its JSON Schema. A value is left unchecked if the schema, or a part of it
 * that the value reaches, can't be applied (such as a reference to nothing), or if the budget runs out. Each check has
 * its own budget unless one is given.
 */
export function outputCheck(schemaJson: string): OutputCheck {
  const check = pausingCheck(schemaJson)
  return (json, field, budget = new Budget()) => atOnce(check(json, field, budget))
}

/** Like `outputCheck`, but yields before it parses a long value and before it checks it. */
function pausingCheck(schemaJson: string) {
  let compiled: Compiled | undefined
  return function* (json: string, field: string, budget: Budget): Work<CheckResult> {
    const isLong = json.length > LENGTH_PER_TURN
    try {
      budget.spend(costOfParsing(json))
      if (!compiled) {
        budget.spend(schemaJson.length * OPERATIONS_PER_CHARACTER)
        compiled = compileSchema(JSON.parse(schemaJson))
      }
      if (isLong) yield
      const value: Json = JSON.parse(json)
      if (isLong) yield
      const faults = findFaults(compiled.schema, value, budget)
      return { faults: faults.map(({ path, message }) => ({ path: [field, ...path].join('.'), message })) }
    } catch (error) {
      if (error instanceof Unappliable)
        return { unchecked: `the step's outputSchema is invalid (${describeError(error.error)})` }
      if (error instanceof TooCostly) return { unchecked: TOO_COSTLY }
      throw error
    }
  }
}

/**
 * One request's checks, which share a budget: the request takes bounded time, however many values and schemas it has.
 */
export class OutputChecks {
  readonly #budget = new Budget()
  readonly #checks = new Map<string, ReturnType<typeof pausingCheck>>()

  /** Checks a value against a schema, both given as JSON. */
  check(schemaJson: string, json: string, field: string): Work<CheckResult> {
    const check = this.#checks.get(schemaJson) ?? pausingCheck(schemaJson)
    this.#checks.set(schemaJson, check)
    return check(json, field, this.#budget)
  }
}

const TOO_COSTLY = 'checking it takes more operations than one request may use'

/** The reasons why a schema, or a part of it, can't be applied to any value. Empty if all of it can be applied. */
export const schemaErrors = (schema: Json): readonly SchemaError[] => compileSchema(schema).errors

const describeError = ({ path, message }: SchemaError): string => (path === '' ? message : `${path} ${message}`)

/** The cost of each character of a schema, which is parsed, compiled, and cached. */
const OPERATIONS_PER_CHARACTER = 10

/** The approximate time and memory to parse a JSON text, computed without parsing it. */
function costOfParsing(json: string): number {
  let cost = json.length * COST.character
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (code === QUOTE) {
      cost += COST.text
      index = endOfText(json, index)
    } else if (code === COMMA) cost += COST.item
    else if (code === COLON) cost += COST.field
    else if (code === BRACKET) cost += COST.list
    else if (code === BRACE) cost += COST.object
  }
  return cost
}

/** In operations of the budget, for the worst case of each: fields and strings that all differ. */
const COST = { character: 1 / 32, item: 1, text: 4, field: 6, list: 3, object: 10 }
const [QUOTE, COMMA, COLON, BRACKET, BACKSLASH, BRACE] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b]

/** The index of the quote that closes the string opened at `start`, or the JSON's length if none does. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return json.length
}
