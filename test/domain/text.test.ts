import fc from 'fast-check'
import { expect, it } from 'vitest'
import { utf8Length } from '../../src/domain/text.ts'

it('counts the bytes of an encoded string, including lone surrogates', () => {
  const encoder = new TextEncoder()
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('a', 'é', '返', '😀', '\ud800', '\udc00'), { maxLength: 2000 })
      .map(units => units.join('')),
  )
  fc.assert(
    fc.property(text, text => {
      expect(utf8Length(text)).toBe(encoder.encode(text).byteLength)
    }),
  )
})
