import type { Endpoint } from '../api/endpoint.ts'
import { patchProblem } from './change.ts'
import { getProblem, listProblems } from './list.ts'
import { getSuggestion, suggestVersion } from './suggestions.ts'

export const problems: readonly Endpoint[] = [listProblems, getProblem, patchProblem, suggestVersion, getSuggestion]
