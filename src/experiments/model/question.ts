import type { JSONSchema7 } from 'ai'
import { JobError } from '../../domain/job-error.ts'
import { isJsonObject, type Json } from '../../domain/json.ts'
import { outputCheck } from '../../domain/output-schema.ts'
import { utf8Length } from '../../domain/text.ts'
import { MAX_ANSWER_TOKENS, MODEL_CALL_EXTRA_TOKENS } from '../../limits.ts'
import type { Question } from '../../model/ask.ts'
import type { Prices } from '../../model/provider.ts'

/** Turns rendered prompts into questions for a model. */
export type Asker = (rendered: Pick<Question<string>, 'instructions' | 'material'>) => Question<string>

/**
 * Returns a function that makes a prompt version's questions. The model answers with text, or with JSON that matches
 * the step's `outputSchema`. Both are returned as JSON. Providers enforce only schemas of objects, so the question
 * describes any other schema.
 */
export function askerFor(schemaJson: string | null): Asker {
  const schema: Json = schemaJson === null ? null : JSON.parse(schemaJson)
  if (!isJsonObject(schema) || Object.keys(schema).length === 0)
    return asText(async text => ({ answer: JSON.stringify(text) }))
  const check = outputCheck(JSON.stringify(schema))
  const readValue: Question<string>['read'] = async value => {
    const answer = JSON.stringify(value)
    const result = check(answer, 'output')
    if ('unchecked' in result) {
      throw new JobError(`The model's answer can't be checked: ${result.unchecked}`, { isFinal: true })
    }
    const [fault] = result.faults
    return fault ? { fault: `${fault.path} ${fault.message}` } : { answer }
  }
  if (schema.type === 'string') return asText(readValue)
  if (schema.type === 'object') {
    return rendered => ({
      ...rendered,
      name: 'output',
      // Leave it to the provider to reject an invalid schema.
      schema: schema as JSONSchema7,
      isStrict: isStrict(schema),
      read: readValue,
    })
  }
  const order = `Answer with nothing but JSON that matches this schema: ${JSON.stringify(schema)}`
  return ({ instructions, material }) =>
    asText(async text => {
      const value = parsed(text)
      return value === undefined ? { fault: "it wasn't JSON" } : readValue(value)
    })({ instructions: instructions === null ? order : `${instructions}\n\n${order}`, material })
}

const asText =
  (read: (text: string) => ReturnType<Question<string>['read']>): Asker =>
  rendered => ({ ...rendered, name: 'output', schema: null, read: value => read(String(value)) })

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether each object in a schema lists and requires its fields and allows no other, as OpenAI's strict mode needs. */
function isStrict(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isJsonObject(schema)) return true
  const { properties, required } = schema
  if (isJsonObject(properties)) {
    const names = new Set(Array.isArray(required) ? required : [])
    if (schema.additionalProperties !== false || Object.keys(properties).some(name => !names.has(name))) return false
  } else if (schema.type === 'object') return false
  return Object.values(schema).every(isStrict)
}

/** The most that one call can cost, in billionths of a dollar. A token has at least one byte. */
export function boundOf({ instructions, material, schema }: Question<string>, { input, output }: Prices): number {
  const texts = [instructions ?? '', material, schema === null ? '' : JSON.stringify(schema)]
  const tokens = texts.reduce((sum, text) => sum + utf8Length(text), MODEL_CALL_EXTRA_TOKENS)
  return nanoUsd(tokens * input + MAX_ANSWER_TOKENS * output)
}

/** Converts tokens times dollars per million tokens to billionths of a dollar, rounded up. */
export const nanoUsd = (millionths: number): number => Math.ceil(millionths * 1000)
