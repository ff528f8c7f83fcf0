import 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The random seed that property tests start from. */
    propertySeed: number
    /** How many times as many runs each property gets as in an ordinary `npm test`. */
    propertyRuns: number
  }
}
