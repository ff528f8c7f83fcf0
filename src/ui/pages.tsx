import { type ComponentType, lazy, type PropsWithChildren, Suspense, useEffect } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { PAGES } from './page-routes.ts'
import { PageFault } from './parts/page-fault.tsx'
import { useMay } from './parts/scopes.tsx'
import { watchFirstPage } from './parts/settled.ts'
import { PageSkeleton } from './shell/frame.tsx'
import { isIn } from './shell/navigation.ts'
import { NeedsRead } from './shell/needs-read.tsx'
import { NotFound } from './shell/not-found.tsx'

const page = (load: () => Promise<{ Page: ComponentType }>) =>
  lazy(async () => {
    const { Page } = await load()
    return {
      default: () => (
        <Watched>
          <Page />
        </Watched>
      ),
    }
  })

function Watched({ children }: PropsWithChildren) {
  useEffect(watchFirstPage, [])
  return children
}

const routes = Object.entries(PAGES).map(([path, load]) => ({ path, Component: page(load) }))

export function Pages() {
  const [address] = useLocation()
  const mayRead = useMay('read')
  return (
    <PageFault address={address}>
      <Suspense fallback={<PageSkeleton />}>
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
