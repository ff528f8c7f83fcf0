import * as fc from 'fast-check'
import { inject } from 'vitest'

// `npm test` tries the same cases each time, so only a change can break it. `.ci/nightly` looks for new cases.
fc.configureGlobal({ seed: inject('propertySeed') })
