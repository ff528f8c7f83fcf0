import { type OutputUnit, type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema'
import { MAX_CHECKED_THROUGH_LENGTH } from '../limits.ts'

/** One place at which a value breaks a schema. */
export interface SchemaFault {
  path: string
  message: string
}

/** Says where a value, as JSON, breaks a schema; the paths begin with `field`. Empty where it does not. */
export type OutputCheck = (json: string, field: string) => SchemaFault[]

/**
 * The check of a step's outputs against its JSON Schema (drafts 4, 7, 2019-09 and 2020-12, by its `$schema`; the last one
 * where it names none). Of a long value only the first fault is told. A schema that cannot be applied, such as one with a
 * reference into nowhere, is a fault of each value.
 */
export function outputCheck(schemaJson: string): OutputCheck {
  const validatorOf = (endsAtFault: boolean) => {
    // The validator leaves marks in what it is given, so each one parses a schema of its own.
    const schema: Schema = JSON.parse(schemaJson)
    return attempt(() => new Validator(schema, draftOf(schema), endsAtFault))
  }
  const [through, toFirstFault] = [validatorOf(false), validatorOf(true)]
  return (json, field) => {
    const validator = json.length > MAX_CHECKED_THROUGH_LENGTH ? toFirstFault : through
    const result = 'made' in validator ? attempt(() => validator.made.validate(JSON.parse(json))) : validator
    if ('made' in result) return faultsOf(result.made.errors, field)
    return [{ path: field, message: `cannot be checked: the step's outputSchema is at fault (${result.reason})` }]
  }
}

/** What a function makes, or the first line of why it cannot. */
function attempt<Made>(make: () => Made): { made: Made } | { reason: string } {
  try {
    return { made: make() }
  } catch (error) {
    return { reason: (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '' }
  }
}

function draftOf({ $schema }: Schema): SchemaDraft {
  const drafts: readonly [name: string, draft: SchemaDraft][] = [
    ['draft-04', '4'],
    ['draft-07', '7'],
    ['2019-09', '2019-09'],
  ]
  return drafts.find(([name]) => typeof $schema === 'string' && $schema.includes(name))?.[1] ?? '2020-12'
}

/** The innermost faults: the validator also names each keyword on the way to one. */
function faultsOf(units: readonly OutputUnit[], field: string): SchemaFault[] {
  const outer = new Set(units.flatMap(({ keywordLocation }) => outside(keywordLocation)))
  // What is forbidden by the schema `false` has no keyword of its own, only a place.
  const holders = new Set(
    units.filter(({ keyword }) => keyword === 'false').map(({ instanceLocation }) => outside(instanceLocation)[0]),
  )
  const isOuter = ({ keyword, keywordLocation, instanceLocation }: OutputUnit) =>
    outer.has(keywordLocation) || (HOLDING.has(keyword) && holders.has(instanceLocation))
  return units.filter(unit => !isOuter(unit)).map(unit => faultOf(unit, field))
}

/** Keywords that apply a schema to the fields or items of what they stand at. */
const HOLDING = new Set([
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'prefixItems',
  'items',
  'additionalItems',
  'unevaluatedItems',
])

/** The places that a place lies in, the nearest first. */
function outside(place: string): string[] {
  const end = place.lastIndexOf('/')
  return end > 0 ? [place.slice(0, end), ...outside(place.slice(0, end))] : []
}

function faultOf({ keyword, instanceLocation, error }: OutputUnit, field: string): SchemaFault {
  const missing = keyword === 'required' && /required property "(.*)"\.$/s.exec(error)?.[1]
  const steps = [field, ...stepsOf(instanceLocation), ...(missing ? [missing] : [])]
  return { path: steps.join('.'), message: keyword === 'false' ? 'is not allowed' : missing ? 'is required' : error }
}

/** The fields and indexes of a JSON pointer as a URI fragment (RFC 6901, section 6). */
const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => decodeURI(step).replaceAll('~1', '/').replaceAll('~0', '~'))
