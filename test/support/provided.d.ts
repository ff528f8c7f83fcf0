import 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The random seed that property tests start from. */
    propertySeed: number
    /** The number of runs for each property, as a multiple of the number in an ordinary `npm test`. */
    propertyRuns: number
  }
}
