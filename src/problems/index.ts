import type { Endpoint } from '../api/endpoint.ts'
import { listProblems } from './list.ts'

export const problems: readonly Endpoint[] = [listProblems]
