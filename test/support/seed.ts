import * as fc from 'fast-check'
import { inject } from 'vitest'

// `npm test` tries the same cases each time, so only a change to the code can break it. `.ci/nightly` tries new cases.
fc.configureGlobal({ seed: inject('propertySeed') })
