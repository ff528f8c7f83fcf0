import { type PropsWithChildren, useEffect, useRef } from 'react'

/** Scrolls into view when something in it is marked. */
export function MarkedPlace({ marked, children }: PropsWithChildren<{ marked: string | undefined }>) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (marked !== undefined) container.current?.scrollIntoView({ block: 'nearest' })
  }, [marked])
  return <div ref={container}>{children}</div>
}
