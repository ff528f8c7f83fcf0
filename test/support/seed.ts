import * as fc from 'fast-check'
import { inject } from 'vitest'

// `npm test` tries the same cases each time, so that it fails by a change alone; `.ci/nightly` looks for new ones.
fc.configureGlobal({ seed: inject('propertySeed') })
