import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { PAGES } from './page-routes.ts'
import { PageFault } from './parts/page-fault.tsx'
import { useMay } from './parts/scopes.tsx'
import { watchFirstPage } from './parts/settled.ts'
import { PageSkeleton } from './shell/frame.tsx'
import { isIn } from './shell/navigation.ts'
import { NeedsRead } from './shell/needs-read.tsx'
import { NotFound } from './shell/not-found.tsx'

/** The pages whose modules have loaded, by path. */
const loaded = new Map<string, ComponentType>()

const routes = Object.entries(PAGES).map(([path, load]) => {
  const loadPage = async () => {
    const { Page } = await load()
    loaded.set(path, Page)
    return { default: Page }
  }
  return { path, pattern: patternOf(path), loadPage, Lazy: lazy(loadPage) }
})

/** Matches addresses with a path such as `/traces/:traceId`. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\/:\w+\?/, '(/[^/]+)?').replaceAll(/:\w+/g, '[^/]+')}$`)
}

/**
 * Loads the module of the page at an address, so that the page is part of the first render. Otherwise, React shows the
 * fallback for 300 ms, and the page makes its requests only after that.
 */
export async function loadPageAt(address: string): Promise<void> {
  await routes.find(({ pattern }) => pattern.test(address))?.loadPage()
}

/** A route's page: its module if that has loaded, or else a component that shows the fallback until it has. */
function RoutedPage({ path, Lazy }: { path: string; Lazy: ComponentType }) {
  // The component must stay the same once the module has loaded, or the page would lose its state.
  const [Page] = useState<ComponentType>(() => loaded.get(path) ?? Lazy)
  useEffect(watchFirstPage, [])
  return <Page />
}

export function Pages() {
  const [address] = useLocation()
  const mayRead = useMay('read')
  return (
    <PageFault address={address}>
      <Suspense fallback={<PageSkeleton />}>
        <Switch>
          {routes.map(({ path, Lazy }) => (
            <Route key={path} path={path}>
              {/* Each settings tab requires its own scope. */}
              {mayRead === false && !isIn('/settings', address) ? (
                <NeedsRead />
              ) : (
                <RoutedPage path={path} Lazy={Lazy} />
              )}
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
