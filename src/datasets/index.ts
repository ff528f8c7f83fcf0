import type { Endpoint } from '../api/endpoint.ts'
import { listDatasets, putDataset, putEvaluator } from './datasets.ts'
import { exportDataset } from './export.ts'
import { changeDatasetItem, importItems, listItems } from './items.ts'

export const datasets: readonly Endpoint[] = [
  listDatasets,
  putDataset,
  listItems,
  exportDataset,
  importItems,
  changeDatasetItem,
  putEvaluator,
]
