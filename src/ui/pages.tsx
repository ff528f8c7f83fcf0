import { type ComponentType, lazy, Suspense } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { PageFault } from './parts/page-fault.tsx'
import { useMay } from './parts/scopes.tsx'
import { isIn } from './shell/navigation.ts'
import { NeedsRead } from './shell/needs-read.tsx'
import { NotFound } from './shell/not-found.tsx'

const page = (load: () => Promise<{ Page: ComponentType }>) => lazy(async () => ({ default: (await load()).Page }))

/** Loads each page. The navigation calls it early, when the pointer is over a link. */
export const PAGES = {
  '/': () => import('./insights/page.tsx'),
  '/review': () => import('./review/page.tsx'),
  '/traces': () => import('./traces/page.tsx'),
  '/traces/:traceId': () => import('./trace/page.tsx'),
  '/spans': () => import('./spans/page.tsx'),
  '/datasets': () => import('./datasets/page.tsx'),
  '/datasets/:datasetId': () => import('./datasets/dataset-page.tsx'),
  '/prompts': () => import('./texts/prompts-page.tsx'),
  '/prompts/:promptId': () => import('./texts/prompt-page.tsx'),
  '/experiments': () => import('./experiments/page.tsx'),
  '/experiments/new': () => import('./experiments/new-page.tsx'),
  '/experiments/:experimentId': () => import('./experiments/report-page.tsx'),
  '/experiments/:a/compare/:b': () => import('./experiments/comparison-page.tsx'),
  '/knowledge-docs': () => import('./texts/knowledge-docs-page.tsx'),
  '/knowledge-docs/:docId': () => import('./texts/knowledge-doc-page.tsx'),
  '/settings/:tab?': () => import('./settings/page.tsx'),
} as const

const routes = Object.entries(PAGES).map(([path, load]) => ({ path, Component: page(load) }))

export function Pages() {
  const [address] = useLocation()
  const mayRead = useMay('read')
  return (
    <PageFault address={address}>
      <Suspense>
        <Switch>
          {routes.map(({ path, Component }) => (
            <Route key={path} path={path}>
              {/* Each settings tab has its own scope. */}
              {mayRead === false && !isIn('/settings', address) ? <NeedsRead /> : <Component />}
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </PageFault>
  )
}
