import type { SampleProject } from './sample-project.ts'

/** Every page of the app, and its path in a project. */
export const EVERY_PAGE: readonly { name: string; path: (sample: SampleProject) => string }[] = [
  { name: 'insights', path: () => '/' },
  { name: 'review', path: () => '/review' },
  { name: 'traces', path: () => '/traces' },
  { name: 'trace', path: ({ traceId }) => `/traces/${traceId}` },
  { name: 'prompts', path: () => '/prompts' },
  { name: 'prompt', path: ({ promptId }) => `/prompts/${promptId}` },
  { name: 'knowledge docs', path: () => '/knowledge-docs' },
  { name: 'knowledge doc', path: ({ docId }) => `/knowledge-docs/${docId}` },
  ...['projects', 'keys', 'users', 'error-types', 'audit-log'].map(tab => ({
    name: `settings, ${tab}`,
    path: () => `/settings/${tab}`,
  })),
  { name: 'no page', path: () => '/nowhere' },
]
