import type { StepNames } from './step-names.ts'

/** The app's pages with filters that can be saved as a view. */
export const VIEW_PAGES = ['traces', 'spans', 'review'] as const

export type ViewPage = (typeof VIEW_PAGES)[number]

/** The filters that name a step. */
const STEP_FILTERS: ReadonlySet<string> = new Set(['stepId', 'engineStepId'])

/** A view's query with the current names of its steps. */
export const withStepNames = (query: string, names: StepNames): string =>
  query
    .split('&')
    .map(part => {
      const [[filter, stepId] = ['', '']] = new URLSearchParams(part)
      const newName = STEP_FILTERS.has(filter) ? names.get(stepId) : undefined
      return newName === undefined ? part : String(new URLSearchParams({ [filter]: newName }))
    })
    .join('&')
