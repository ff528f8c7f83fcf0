import { type OutputUnit, type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema'
import {
  type CustomValidator,
  createErrorHandler,
  type ErrorTransformer,
  type FormContextType,
  type RJSFSchema,
  type RJSFValidationError,
  ROOT_SCHEMA_PREFIX,
  toErrorSchema,
  type UiSchema,
  unwrapErrorHandler,
  type ValidationData,
  type ValidatorType,
  validationDataMerge,
  withIdRefPrefix,
} from '@rjsf/utils'

type Data = unknown
type Checked = { units: readonly OutputUnit[] } | { reason: Error }

/** Validators are made once for each schema; a form asks about the same few for every keystroke. */
let whole = new WeakMap<object, Validator>()
let parts = new WeakMap<object, WeakMap<object, Validator>>()

/** What forms check values with. The usual validator compiles schemas to code, which the page's CSP forbids. */
export const validator: ValidatorType<Data, RJSFSchema, FormContextType> = {
  validateFormData,
  isValid,
  rawValidation,
  reset,
}

// biome-ignore lint/style/noDefaultExport: rjsf imports its usual one so (vite.config.ts)
export default validator

function reset(): void {
  whole = new WeakMap()
  parts = new WeakMap()
}

/** Whether data keeps to a part of a schema, whose references are into the whole. False for a schema that cannot be applied. */
function isValid(schema: RJSFSchema, data: Data, root: RJSFSchema): boolean {
  if (typeof schema === 'boolean') return schema
  if (data === undefined) return false
  try {
    return partValidator(schema, root).validate(data).valid
  } catch {
    return false
  }
}

/** What is wrong with data, in the validator's own terms. */
function rawValidation<Result = unknown>(
  schema: RJSFSchema,
  data?: Data,
): { errors?: Result[]; validationError?: Error } {
  const checked = check(schema, data)
  // The caller says what it takes the validator's terms to be.
  return 'reason' in checked ? { validationError: checked.reason } : { errors: checked.units as unknown as Result[] }
}

function validateFormData(
  data: Data,
  schema: RJSFSchema,
  customValidate?: CustomValidator<Data, RJSFSchema, FormContextType>,
  transformErrors?: ErrorTransformer<Data, RJSFSchema, FormContextType>,
  uiSchema?: UiSchema<Data, RJSFSchema, FormContextType>,
): ValidationData<Data> {
  const checked = check(schema, data)
  const found = 'reason' in checked ? [] : innermost(checked.units).map(toError)
  const errors = transformErrors ? transformErrors(found, uiSchema) : found
  const result = { errors, errorSchema: toErrorSchema<Data>(errors) }
  if (!customValidate) return result
  const handler = customValidate(data, createErrorHandler<Data>(data), uiSchema, result.errorSchema)
  return validationDataMerge<Data>(result, unwrapErrorHandler<Data>(handler))
}

function check(schema: RJSFSchema, data: Data): Checked {
  if (data === undefined) return { units: [] }
  try {
    const known = whole.get(schema) ?? new Validator(own(schema), draftOf(schema), false)
    whole.set(schema, known)
    return { units: known.validate(data).errors }
  } catch (error) {
    return { reason: error instanceof Error ? error : new Error(String(error)) }
  }
}

function partValidator(schema: RJSFSchema, root: RJSFSchema): Validator {
  const ofRoot = parts.get(root) ?? new WeakMap<object, Validator>()
  parts.set(root, ofRoot)
  const known = ofRoot.get(schema)
  if (known) return known
  const { $id: _, ...part } = own(withIdRefPrefix(schema))
  const made = new Validator(part, draftOf(root))
  made.addSchema(own(withIdRefPrefix(root)), ROOT_SCHEMA_PREFIX)
  ofRoot.set(schema, made)
  return made
}

/** A copy: the validator leaves marks in what it is given. A form's own marks in schemas are no part of them. */
const own = (schema: unknown): Schema => JSON.parse(JSON.stringify(schema))

function draftOf({ $schema }: RJSFSchema): SchemaDraft {
  const drafts: readonly [name: string, draft: SchemaDraft][] = [
    ['draft-04', '4'],
    ['draft-07', '7'],
    ['2019-09', '2019-09'],
  ]
  return drafts.find(([name]) => $schema?.includes(name))?.[1] ?? '2020-12'
}

/** The validator names each keyword on the way to a fault, too. */
function innermost(units: readonly OutputUnit[]): OutputUnit[] {
  const outer = new Set(units.flatMap(({ keywordLocation }) => placesAround(keywordLocation)))
  return units.filter(({ keywordLocation }) => !outer.has(keywordLocation))
}

function placesAround(place: string): string[] {
  const end = place.lastIndexOf('/')
  return end > 0 ? [place.slice(0, end), ...placesAround(place.slice(0, end))] : []
}

function toError({ keyword, keywordLocation, instanceLocation, error }: OutputUnit): RJSFValidationError {
  const missing = keyword === 'required' ? /required property "(.*)"\.$/s.exec(error)?.[1] : undefined
  const steps = [...stepsOf(instanceLocation), ...(missing === undefined ? [] : [missing])]
  const message = missing === undefined ? (keyword === 'false' ? 'is not allowed' : error) : 'is required'
  return {
    name: keyword,
    message,
    params: {},
    property: steps.length === 0 ? '.' : steps.map(quoted).join(''),
    schemaPath: keywordLocation,
    stack: `${steps.join('.')} ${message}`,
  }
}

/** The fields and indexes of a JSON pointer as a URI fragment (RFC 6901, section 6). */
const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => decodeURI(step).replaceAll('~1', '/').replaceAll('~0', '~'))

/** A step that stays one, whatever dots and brackets are in it. */
const quoted = (step: string): string => `['${step.replaceAll(/['\\]/g, '\\$&')}']`
