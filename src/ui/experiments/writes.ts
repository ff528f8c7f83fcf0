import type { InfiniteData } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Experiment, ExperimentItem, ExperimentItems, ItemResult } from '../api/wire.ts'
import { pathOf } from './queries.ts'

interface NewExperiment {
  id: string
  projectSlug: string
  datasetId: string
  split?: string
  name?: string
  promptVersionId?: string
  runner: 'client' | 'model'
  itemId?: string
  model?: string
  maxCostUsd?: number
}

/** Creates an experiment, which the team's own code or the model then runs. */
export async function createExperiment(fields: NewExperiment): Promise<Experiment> {
  const experiment = await call<Experiment>('/api/experiments', {
    method: 'POST',
    body: fields,
  })
  queryClient.invalidateQueries({ queryKey: ['experiments'] })
  return experiment
}

/** Ends an experiment. Resolves once the page shows that it has ended. */
export async function endExperiment(id: string, how: 'finish' | 'cancel'): Promise<void> {
  await call(`${pathOf(id)}/${how}`, { method: 'POST' })
  queryClient.invalidateQueries({ queryKey: ['experiments'] })
  await queryClient.invalidateQueries({ queryKey: ['experiment', id] })
}

/** Asks a model about an experiment's unjudged items. Resolves once the page shows that the model is being asked. */
export async function askModel(id: string): Promise<void> {
  await call(`${pathOf(id)}/judgments`, { method: 'POST' })
  queryClient.invalidateQueries({ queryKey: ['gate'] })
  await queryClient.invalidateQueries({ queryKey: ['experiment', id, 'report'] })
}

export type Verdict = NonNullable<ExperimentItem['review']>['decision']

/** Decides on a candidate's output. The item is updated in its list and keeps its place. */
export async function reviewItem(id: string, itemId: string, decision: Verdict, comment: string): Promise<void> {
  const result = await call<ItemResult>(`${pathOf(id)}/items/${encodeURIComponent(itemId)}/review`, {
    method: 'POST',
    body: { decision, ...(comment !== '' && { comment }) },
  })
  queryClient.setQueriesData<InfiniteData<Pick<ExperimentItems, 'items'>>>(
    { queryKey: ['experiment', id, 'items'] },
    data => data && { ...data, pages: data.pages.map(page => withResult(page, result)) },
  )
  for (const queryKey of [
    ['experiment', id, 'report'],
    ['experiments'],
    ['comparison'],
    ['dataset'],
    ['datasets'],
    ['gate'],
    ['judgments'],
  ])
    queryClient.invalidateQueries({ queryKey })
}

const withResult = <Page extends Pick<ExperimentItems, 'items'>>(
  page: Page,
  { itemId, ...result }: ItemResult,
): Page => ({
  ...page,
  items: page.items.map(item => (item.id === itemId ? { ...item, ...result } : item)),
})
