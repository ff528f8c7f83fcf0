import type { Endpoint } from '../api/endpoint.ts'
import { getDataset, listDatasets, putDataset, putEvaluator } from './datasets.ts'
import { exportDataset } from './export.ts'
import { changeDatasetItem, getDatasetItem, importItems, listItems } from './items.ts'

export const datasets: readonly Endpoint[] = [
  listDatasets,
  putDataset,
  getDataset,
  listItems,
  exportDataset,
  importItems,
  getDatasetItem,
  changeDatasetItem,
  putEvaluator,
]
