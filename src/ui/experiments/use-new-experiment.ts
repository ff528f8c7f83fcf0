import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { modelQuery } from '../api/model.ts'
import type { Dataset } from '../api/wire.ts'
import { withParameters } from '../parts/parameters.ts'
import { hasSplitQuery } from './queries.ts'
import { usePromptVersions } from './use-prompt-versions.ts'

/** The split that is never used for the examples in prompts. */
export const TEST = 'test'

/** The value in the URL that means no prompt version. */
export const NO_VERSION = 'none'

/** What a new experiment tries, and on which items. The newest version is the default. */
export function useNewExperiment(project: string, datasets: readonly Dataset[]) {
  const [address, change] = useSearchParams()
  const [name, setName] = useState('')
  const [isAllChosen, setAll] = useState(false)
  const [isByModelChosen, setByModel] = useState(false)
  const [modelName, setModelName] = useState('')
  const [maxCostUsd, setMaxCostUsd] = useState<number | string>('')
  const configured = useQuery(modelQuery(project))
  const dataset =
    datasets.find(({ id, stepId }) => id === address.get('dataset') || stepId === address.get('stepId')) ??
    (datasets.length === 1 ? datasets[0] : undefined)
  const hasNoTests = useQuery(hasSplitQuery(dataset?.id, TEST)).data === false
  const { prompts, isComplete } = usePromptVersions(project, [dataset?.stepId])
  const versions = prompts.flatMap(prompt =>
    prompt.versions.map(({ id, number, isActive, note }) => ({
      value: id,
      label: `Version ${number}${isActive ? ' (active)' : ''}${note ? `: ${note}` : ''}`,
    })),
  )
  const configuredModel = configured.data?.model
  const whyNoModel =
    isComplete && dataset && versions.length === 0
      ? 'The step has no prompt.'
      : (configured.error?.message ?? configured.data?.reason ?? null)
  const isByModel = isByModelChosen && !!configuredModel && whyNoModel === null
  const chosen = address.get('promptVersionId')
  const isKnown = (chosen === NO_VERSION && !isByModel) || versions.some(({ value }) => value === chosen)
  const versionId = isKnown ? chosen : isComplete && dataset ? (versions[0]?.value ?? NO_VERSION) : null
  const isAll = isAllChosen || hasNoTests
  const model = modelName.trim()
  // Only the configured model has a known price.
  const isPriced = !!configuredModel?.prices && (model === '' || model === configuredModel.name)
  const fields = dataset &&
    versionId !== null && {
      runner: isByModel ? ('model' as const) : ('client' as const),
      ...(isByModel && model !== '' && { model }),
      ...(isByModel && isPriced && typeof maxCostUsd === 'number' && { maxCostUsd }),
      projectSlug: project,
      datasetId: dataset.id,
      ...(!isAll && { split: TEST }),
      ...(versionId !== NO_VERSION && { promptVersionId: versionId }),
      ...(name.trim() !== '' && { name: name.trim() }),
    }
  const key = JSON.stringify(fields)
  // A retry of the same request doesn't create another experiment.
  // biome-ignore lint/correctness/useExhaustiveDependencies: different fields mean a different experiment
  const id = useMemo(() => crypto.randomUUID(), [key])
  return {
    dataset,
    versions,
    versionId,
    hasNoTests,
    isAll,
    setAll,
    name,
    setName,
    model: configuredModel,
    whyNoModel,
    isByModel,
    setByModel,
    modelName,
    setModelName,
    isPriced,
    maxCostUsd,
    setMaxCostUsd,
    body: fields ? { id, ...fields } : undefined,
    chooseDataset: (datasetId: string | null) =>
      change(withParameters({ dataset: datasetId, stepId: null, promptVersionId: null }), { replace: true }),
    chooseVersion: (id: string | null) => change(withParameters({ promptVersionId: id }), { replace: true }),
  }
}

export type NewExperimentDraft = ReturnType<typeof useNewExperiment>
