import { useNotifications } from '@mantine/notifications'
import { lazy, Suspense, useState } from 'react'

const Notices = lazy(async () => ({ default: (await import('./notices.tsx')).Notices }))

/** Shows notifications. The first one waits in the store while their component loads. */
export function LateNotices() {
  const { notifications } = useNotifications()
  const [isUsed, setUsed] = useState(false)
  if (!isUsed && notifications.length > 0) setUsed(true)
  return (
    isUsed && (
      <Suspense>
        <Notices />
      </Suspense>
    )
  )
}
