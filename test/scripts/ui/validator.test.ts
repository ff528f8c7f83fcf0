import type { RJSFSchema } from '@rjsf/utils'
import { describe, it } from 'vitest'
import { validator } from '../../../src/ui/review/form/validator.ts'

const SCHEMA: RJSFSchema = {
  type: 'object',
  properties: {
    answer: { type: 'string' },
    'a.b': { type: 'integer' },
    list: { type: 'array', items: { enum: [1, 2] } },
  },
  required: ['answer'],
  additionalProperties: false,
}

const faultsIn = (data: unknown, schema: RJSFSchema = SCHEMA) =>
  validator.validateFormData(data, schema).errors.map(({ property, message }) => [property, message])

describe('the form validator', () => {
  it('accepts data that matches the schema', ({ expect }) => {
    expect(faultsIn({ answer: 'yes', 'a.b': 1, list: [1, 2] })).toEqual([])
  })

  it('reports the field of each fault, even if its name is unusual', ({ expect }) => {
    expect(faultsIn({})).toEqual([["['answer']", 'is required']])
    expect(faultsIn({ answer: 'yes', 'a.b': 'x' })[0]?.[0]).toBe("['a.b']")
    expect(faultsIn({ answer: 'yes', list: [1, 3] })[0]?.[0]).toBe("['list']['1']")
  })

  it('finds which of several schemas matches the data, and resolves references into the root schema', ({ expect }) => {
    const root: RJSFSchema = { $defs: { short: { type: 'string', maxLength: 2 } } }
    expect(validator.isValid({ $ref: '#/$defs/short' }, 'ab', root)).toBe(true)
    expect(validator.isValid({ $ref: '#/$defs/short' }, 'abc', root)).toBe(false)
  })

  it.for<RJSFSchema>([{ $ref: '#/nowhere' }, { not: { $ref: '#/nowhere' } }, { pattern: '(' }])(
    'does not throw on the schema %j',
    (schema, { expect }) => {
      expect(validator.isValid(schema, 'x', schema)).toBeTypeOf('boolean')
      expect(() => validator.validateFormData('x', schema)).not.toThrow()
    },
  )
})
