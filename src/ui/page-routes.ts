/**
 * The function that loads each page, by the page's path. The build reads this list: for each page, it writes a document
 * that preloads the page's files (scripts/vite/app-pages.ts).
 */
export const PAGES = {
  '/': () => import('./insights/page.tsx'),
  '/problems': () => import('./problems/page.tsx'),
  '/problems/:problemId': () => import('./problems/problem-page.tsx'),
  '/review': () => import('./review/page.tsx'),
  '/adjudication': () => import('./adjudication/page.tsx'),
  '/review/progress': () => import('./assignments/progress-page.tsx'),
  '/agreement': () => import('./agreement/page.tsx'),
  '/agreement/outputs': () => import('./agreement/outputs-page.tsx'),
  '/traces': () => import('./traces/page.tsx'),
  // Comes before a trace's page, whose path also matches this address.
  '/traces/conversations': () => import('./conversations/page.tsx'),
  '/traces/conversations/read': () => import('./conversations/conversation-page.tsx'),
  '/traces/:traceId': () => import('./trace/page.tsx'),
  '/spans': () => import('./spans/page.tsx'),
  '/attribution': () => import('./attribution/page.tsx'),
  '/attribution/answers': () => import('./attribution/answers-page.tsx'),
  '/datasets': () => import('./datasets/page.tsx'),
  '/datasets/:datasetId': () => import('./datasets/dataset-page.tsx'),
  '/prompts': () => import('./texts/prompts-page.tsx'),
  '/prompts/:promptId': () => import('./texts/prompt-page.tsx'),
  '/experiments': () => import('./experiments/page.tsx'),
  '/experiments/new': () => import('./experiments/new-page.tsx'),
  // Comes before an experiment's page, whose path also matches this address.
  '/experiments/agreement': () => import('./experiments/agreement-page.tsx'),
  '/experiments/:experimentId': () => import('./experiments/report-page.tsx'),
  '/experiments/:a/compare/:b': () => import('./experiments/comparison-page.tsx'),
  '/knowledge-docs': () => import('./texts/knowledge-docs-page.tsx'),
  '/knowledge-docs/:docId': () => import('./texts/knowledge-doc-page.tsx'),
  '/settings/:tab?': () => import('./settings/page.tsx'),
} as const
