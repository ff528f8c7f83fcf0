import { type SampleProject, STEP } from './sample-project.ts'

interface EveryPage {
  name: string
  path: (sample: SampleProject) => string
  /** The longest time that the page waits before it requests something that isn't needed immediately. */
  delayMs?: number
}

/** Every page of the app, with its path in a project. */
export const EVERY_PAGE: readonly EveryPage[] = [
  { name: 'insights', path: () => '/' },
  { name: 'problems', path: () => '/problems' },
  { name: 'problem', path: ({ problemId }) => `/problems/${problemId}` },
  // The page requests an item's feedback only if the reviewer stays on the item.
  { name: 'review', path: () => '/review', delayMs: 600 },
  { name: 'review progress', path: () => '/review/progress' },
  { name: 'adjudication', path: () => '/adjudication' },
  { name: 'agreement', path: () => '/agreement' },
  { name: 'compared votes', path: () => '/agreement/outputs?label=decision' },
  { name: 'traces', path: () => '/traces' },
  { name: 'conversations', path: () => '/traces/conversations' },
  { name: 'conversation', path: () => '/traces/conversations/read?value=session-2' },
  { name: 'trace', path: ({ traceId }) => `/traces/${traceId}` },
  { name: 'spans', path: () => '/spans' },
  { name: 'attribution', path: () => '/attribution' },
  { name: 'compared answers', path: () => '/attribution/answers?agrees=false' },
  { name: 'datasets', path: () => '/datasets' },
  { name: 'dataset', path: ({ datasetId }) => `/datasets/${datasetId}` },
  { name: 'prompts', path: () => '/prompts' },
  { name: 'prompt', path: ({ promptId }) => `/prompts/${promptId}` },
  { name: 'experiments', path: () => '/experiments' },
  { name: 'new experiment', path: () => '/experiments/new' },
  { name: 'experiment', path: ({ experimentIds: [id] }) => `/experiments/${id}` },
  { name: 'model and people', path: () => `/experiments/agreement?stepId=${STEP}` },
  { name: 'comparison of experiments', path: ({ experimentIds: [a, b] }) => `/experiments/${a}/compare/${b}` },
  { name: 'knowledge docs', path: () => '/knowledge-docs' },
  { name: 'knowledge doc', path: ({ docId }) => `/knowledge-docs/${docId}` },
  ...['projects', 'keys', 'users', 'error-types', 'step-names', 'review-policy', 'webhooks', 'audit-log'].map(tab => ({
    name: `settings, ${tab}`,
    path: () => `/settings/${tab}`,
  })),
  { name: 'webhook', path: ({ webhookId }) => `/settings/webhooks?webhook=${webhookId}` },
  { name: 'page not found', path: () => '/nowhere' },
]
