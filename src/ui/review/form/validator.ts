import {
  type CustomValidator,
  createErrorHandler,
  type ErrorTransformer,
  type FormContextType,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type UiSchema,
  unwrapErrorHandler,
  type ValidationData,
  type ValidatorType,
  validationDataMerge,
} from '@rjsf/utils'

import type { Json } from '../../../domain/json.ts'
import { Budget } from '../../../domain/json-schema/budget.ts'
import { type Fault, findFaults } from '../../../domain/json-schema/check.ts'
import { compileSchema, type Schema } from '../../../domain/json-schema/compile.ts'

type Data = unknown
type Checked = { faults: readonly Fault[] } | { reason: Error }

/** Compiled schemas, by root and part: a form checks the same few schemas on every keystroke. */
let compiled = new WeakMap<object, WeakMap<object, Schema>>()

/** The forms' validator. The usual validator compiles schemas to code, which the page's CSP forbids. */
export const validator: ValidatorType<Data, RJSFSchema, FormContextType> = {
  validateFormData,
  isValid,
  rawValidation,
  reset,
}

// biome-ignore lint/style/noDefaultExport: rjsf imports its usual validator this way (vite.config.ts)
export default validator

function reset(): void {
  compiled = new WeakMap()
}

/**
 * Whether data matches `schema`, which is a part of `root`. Its references point into `root`. False if `schema` can't
 * be applied.
 */
function isValid(schema: RJSFSchema, data: Data, root: RJSFSchema): boolean {
  if (typeof schema === 'boolean') return schema
  if (data === undefined) return false
  const checked = check(schema, data, root)
  return 'faults' in checked && checked.faults.length === 0
}

/** The errors in data, in the checker's own format. */
function rawValidation<Result = unknown>(
  schema: RJSFSchema,
  data?: Data,
): { errors?: Result[]; validationError?: Error } {
  const checked = check(schema, data)
  // The caller chooses the type of the errors.
  return 'reason' in checked ? { validationError: checked.reason } : { errors: checked.faults as unknown as Result[] }
}

function validateFormData(
  data: Data,
  schema: RJSFSchema,
  customValidate?: CustomValidator<Data, RJSFSchema, FormContextType>,
  transformErrors?: ErrorTransformer<Data, RJSFSchema, FormContextType>,
  uiSchema?: UiSchema<Data, RJSFSchema, FormContextType>,
): ValidationData<Data> {
  const checked = check(schema, data)
  const found = 'reason' in checked ? [] : checked.faults.map(toError)
  const errors = transformErrors ? transformErrors(found, uiSchema) : found
  const result = { errors, errorSchema: toErrorSchema<Data>(errors) }
  if (!customValidate) return result
  const handler = customValidate(data, createErrorHandler<Data>(data), uiSchema, result.errorSchema)
  return validationDataMerge<Data>(result, unwrapErrorHandler<Data>(handler))
}

function check(schema: RJSFSchema, data: Data, root: RJSFSchema = schema): Checked {
  if (data === undefined) return { faults: [] }
  try {
    const ofRoot = compiled.get(root) ?? new WeakMap<object, Schema>()
    compiled.set(root, ofRoot)
    const known = ofRoot.get(schema) ?? compileSchema(plain(schema), plain(root)).schema
    ofRoot.set(schema, known)
    return { faults: findFaults(known, plain(data), new Budget()) }
  } catch (error) {
    return { reason: error instanceof Error ? error : new Error(String(error)) }
  }
}

/** Converts to plain JSON. A form adds its own marks and undefined fields to data and schemas. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

const toError = ({ keyword, path, message }: Fault): RJSFValidationError => ({
  name: keyword,
  message,
  params: {},
  property: path.length === 0 ? '.' : path.map(step => quoted(String(step))).join(''),
  stack: `${path.join('.')} ${message}`,
})

/** Quotes a path step, so that dots and brackets in it don't split it. */
const quoted = (step: string): string => `['${step.replaceAll(/['\\]/g, '\\$&')}']`
