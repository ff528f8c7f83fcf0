import { type ComponentProps, lazy, Suspense } from 'react'

const load = () => import('./filter-popover.tsx')

const FilterPopover = lazy(async () => ({ default: (await load()).FilterPopover }))

/** Sets a filter. Popovers and lists are large, so they load after the page, or on first use. */
export const LateFilterPopover = (props: ComponentProps<typeof FilterPopover>) => (
  <Suspense>
    <FilterPopover {...props} />
  </Suspense>
)

export const loadFilterPopover = load
