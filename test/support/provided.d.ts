import 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The random seed that property tests start from. */
    propertySeed: number
    /** Each property's number of runs, as a multiple of the runs in an ordinary `npm test`. */
    propertyRuns: number
  }
}
