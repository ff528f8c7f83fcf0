import type { Endpoint } from '../api/endpoint.ts'
import { patchProblem } from './change.ts'
import { listProblems } from './list.ts'

export const problems: readonly Endpoint[] = [listProblems, patchProblem]
