import { useEffect } from 'react'

/**
 * Keeps a page where it is while it shows what cannot be shown again: going back stays, and a reload or a closed tab is asked
 * about. Returns what lets it go.
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
  // The entry that holds it is one of the same address.
  return () => history.back()
}
