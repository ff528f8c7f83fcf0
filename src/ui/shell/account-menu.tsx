import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { nameOf, sessionQuery } from '../api/session.ts'
import { AccountLabel } from './frame.tsx'

const AccountActions = lazy(async () => ({ default: (await import('./account-actions.tsx')).AccountActions }))

/** Shows who is signed in. Opens a menu, which loads on first use. */
export function AccountMenu() {
  const { data: session } = useQuery(sessionQuery)
  const [isUsed, setUsed] = useState(false)
  const label = session ? (
    <AccountLabel name={nameOf(session)} organization={session.organization.name} />
  ) : (
    <AccountLabel />
  )
  const button = (
    <button type="button" className="frame-account" aria-haspopup="menu" onClick={() => setUsed(true)}>
      {label}
    </button>
  )
  if (!isUsed) return button
  return (
    <Suspense fallback={button}>
      <AccountActions label={label} />
    </Suspense>
  )
}
