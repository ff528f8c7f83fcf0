import type { Connection } from './connection.ts'
import { Failure } from './failure.ts'
import type { Dataset } from './wire.ts'

/** A step's dataset. Throws a `Failure` if it has none. */
export async function findDataset(connection: Connection, step: string): Promise<Dataset> {
  const query = { projectSlug: await connection.projectSlug(), limit: 200 }
  for await (const dataset of connection.list<Dataset>('/api/datasets', 'datasets', query)) {
    if (dataset.stepId === step) return dataset
  }
  throw new Failure('missing', 'dataset_not_found', `The step ${step} has no dataset`, {
    hint: 'Review some of its outputs, or import examples with "countersign datasets import".',
  })
}
