import type { Endpoint } from '../api/endpoint.ts'
import { compareExperiments } from './compare.ts'
import { createExperiment } from './create.ts'
import { deleteGate, getGate, putGate } from './gates.ts'
import { listExperimentItems } from './items.ts'
import { listJudgments, postJudgments } from './judgments.ts'
import { cancelExperiment, finishExperiment } from './lifecycle.ts'
import { getExperiment, listExperiments } from './reports.ts'
import { postResults } from './results.ts'
import { reviewExperimentItem } from './review.ts'

export const experiments: readonly Endpoint[] = [
  createExperiment,
  listExperiments,
  getExperiment,
  listExperimentItems,
  postResults,
  finishExperiment,
  cancelExperiment,
  reviewExperimentItem,
  postJudgments,
  listJudgments,
  compareExperiments,
  putGate,
  getGate,
  deleteGate,
]
