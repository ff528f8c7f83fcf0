import { useNotifications } from '@mantine/notifications'
import { lazy, Suspense, useState } from 'react'

const Notices = lazy(async () => ({ default: (await import('./notices.tsx')).Notices }))

/** Shows notifications. Their component loads with the first one, which waits in the store. */
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
