import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { errorTypesQuery } from '../api/error-types.ts'
import { datasetsQuery } from '../datasets/queries.ts'
import { experimentsQuery } from '../experiments/queries.ts'
import { IconBook2, IconDatabase, IconFlask, IconMessageCode, type IconSearch, IconTool } from '../icons/index.ts'
import { windowsAt } from '../insights/window.ts'
import { problemsQuery } from '../problems/queries.ts'
import { KNOWLEDGE_DOCS, PROMPTS } from '../texts/kinds.ts'
import { textsQuery } from '../texts/queries.ts'

/** How many items the palette shows from each list. */
const SHOWN_ITEMS = 5
const KEPT_MS = 60_000

interface ListItem {
  id: string
  label: string
  description?: string | null
}

interface List {
  name: string
  path: string
  Icon: typeof IconSearch
}

/** A list's first page. */
interface Listed extends List {
  query: { hasNextPage: boolean; error: Error | null }
  items: ListItem[] | undefined
}

interface PaletteList extends List {
  /** The first items that match. */
  items: ListItem[]
  /** Whether more may match. */
  hasMore: boolean
  error: Error | null
}

/**
 * The problems, prompts, datasets, experiments, and knowledge docs whose names contain `text`. Requests the first page
 * of each list once, when `text` isn't empty.
 */
export function usePaletteLists(project: string | undefined, text: string): PaletteList[] {
  const options = { enabled: project !== undefined && text !== '', staleTime: KEPT_MS, refetchInterval: false } as const
  const prompts = useInfiniteQuery({ ...textsQuery(PROMPTS, project), ...options })
  const docs = useInfiniteQuery({ ...textsQuery(KNOWLEDGE_DOCS, project), ...options })
  const datasets = useInfiniteQuery({ ...datasetsQuery(project), ...options })
  const experiments = useInfiniteQuery({ ...experimentsQuery(project, []), ...options })
  const problems = useInfiniteQuery({ ...problemsQuery(project, windowsAt(Date.now(), 30).current, null), ...options })
  const { data: types } = useQuery({ ...errorTypesQuery(project), enabled: options.enabled })
  const typeNames = new Map(types?.errorTypes.map(({ errorType, name }) => [errorType, name]))
  const lists: Listed[] = [
    {
      name: 'Problems',
      path: '/problems',
      Icon: IconTool,
      query: problems,
      items: problems.data?.pages.flatMap(page =>
        page.problems.map(({ id, stepId, errorType }) => ({
          id,
          label: errorType === null ? 'No error type' : (typeNames.get(errorType) ?? errorType),
          description: stepId,
        })),
      ),
    },
    {
      name: 'Prompts',
      path: PROMPTS.path,
      Icon: IconMessageCode,
      query: prompts,
      items: prompts.data?.pages.flatMap(page => page.items.map(({ id, name }) => ({ id, label: name }))),
    },
    {
      name: 'Datasets',
      path: '/datasets',
      Icon: IconDatabase,
      query: datasets,
      items: datasets.data?.pages.flatMap(page => page.datasets.map(({ id, stepId }) => ({ id, label: stepId }))),
    },
    {
      name: 'Experiments',
      path: '/experiments',
      Icon: IconFlask,
      query: experiments,
      items: experiments.data?.pages.flatMap(page =>
        page.experiments.map(({ id, name, stepId }) => ({ id, label: name ?? stepId, description: stepId })),
      ),
    },
    {
      name: 'Knowledge docs',
      path: KNOWLEDGE_DOCS.path,
      Icon: IconBook2,
      query: docs,
      items: docs.data?.pages.flatMap(page =>
        page.items.map(({ id, name, title }) => ({ id, label: title ?? name, description: name })),
      ),
    },
  ]
  return lists.map(({ name, path, Icon, query, items = [] }) => {
    const matching = text === '' ? [] : items.filter(({ label, description }) => isIn(text, label, description ?? ''))
    return {
      name,
      path,
      Icon,
      items: matching.slice(0, SHOWN_ITEMS),
      hasMore: text !== '' && (matching.length > SHOWN_ITEMS || query.hasNextPage),
      error: query.error,
    }
  })
}

/** Whether any of `texts` contains `text`, ignoring case. */
export const isIn = (text: string, ...texts: readonly string[]): boolean =>
  texts.some(each => each.toLowerCase().includes(text.toLowerCase()))
