import { ActionIcon } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { Trace } from '../api/wire.ts'
import { IconDots } from '../icons/index.ts'

const TraceMenu = lazy(async () => ({ default: (await import('./trace-menu.tsx')).TraceMenu }))

/** The button for the actions on a trace. Their menu loads on first use. */
export function TraceActions({ trace }: { trace: Trace }) {
  const [isUsed, setUsed] = useState(false)
  const button = (
    <ActionIcon variant="default" aria-label="Trace actions" aria-haspopup="menu" onClick={() => setUsed(true)}>
      <IconDots size={16} aria-hidden />
    </ActionIcon>
  )
  if (!isUsed) return button
  return (
    <Suspense fallback={button}>
      <TraceMenu trace={trace} />
    </Suspense>
  )
}
