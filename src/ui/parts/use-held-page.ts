import { useEffect } from 'react'

/**
 * Keeps a page open while it shows something that can't be shown again: Back stays on the page, and closing or
 * reloading asks first. Returns a function that releases it.
 */
export function useHeldPage(isHeld: boolean): () => void {
  useEffect(() => {
    if (!isHeld) return
    const hold = () => history.pushState(history.state, '', location.href)
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    hold()
    window.addEventListener('popstate', hold)
    window.addEventListener('beforeunload', ask)
    return () => {
      window.removeEventListener('popstate', hold)
      window.removeEventListener('beforeunload', ask)
    }
  }, [isHeld])
  // Removes the extra history entry for the same URL.
  return () => history.back()
}
