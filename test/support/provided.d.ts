import 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** What properties draw their cases by. */
    propertySeed: number
    /** How many times the runs of a usual `npm test`. */
    propertyRuns: number
  }
}
