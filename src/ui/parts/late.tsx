import { type ComponentType, lazy, Suspense } from 'react'
import { useSettled } from './settled.ts'

/**
 * A component that loads once the page has its data. Until then, `Blank` takes the same space, so that nothing moves.
 */
export function late<Props extends object>(load: () => Promise<ComponentType<Props>>, Blank: ComponentType) {
  const Loaded: ComponentType<Props> = lazy(async () => ({ default: await load() }))
  return function Late(props: Props) {
    return useSettled() ? (
      <Suspense fallback={<Blank />}>
        <Loaded {...props} />
      </Suspense>
    ) : (
      <Blank />
    )
  }
}
