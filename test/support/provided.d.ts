import 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The seed of property tests. */
    propertySeed: number
    /** Multiplies the number of runs of an ordinary `npm test`. */
    propertyRuns: number
  }
}
