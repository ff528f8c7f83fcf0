import type { Endpoint } from '../api/endpoint.ts'
import { patchProblem } from './change.ts'
import { listProblems } from './list.ts'
import { getSuggestion, suggestVersion } from './suggestions.ts'

export const problems: readonly Endpoint[] = [listProblems, patchProblem, suggestVersion, getSuggestion]
