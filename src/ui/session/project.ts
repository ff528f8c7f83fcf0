import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { useSearchParams } from 'wouter'
import { sessionQuery } from '../api/session.ts'

const REMEMBERED = 'countersign.project'

/** Keeps a project for the addresses that name none: of this tab, and of those opened later. */
export function rememberProject(slug: string): void {
  sessionStorage.setItem(REMEMBERED, slug)
  localStorage.setItem(REMEMBERED, slug)
}

/** The slug of the project that the address, or else this tab's or this browser's last visit, names. */
export function useProjectHint(): string | undefined {
  const [parameters] = useSearchParams()
  return (
    parameters.get('project') ?? sessionStorage.getItem(REMEMBERED) ?? localStorage.getItem(REMEMBERED) ?? undefined
  )
}

/**
 * The slug of the project that is looked at: that of the address, or the last one, or the first. Undefined: the organization
 * has none. A page asks for its data by it without waiting for the session.
 */
export function useProject(): string | undefined {
  const hint = useProjectHint()
  const { data: session } = useQuery(sessionQuery)
  if (!session) return hint
  return session.projects.find(({ slug }) => slug === hint)?.slug ?? session.projects[0]?.slug
}

/** Goes to another project, on the same page without what was chosen there. */
export function useChooseProject(): (slug: string) => void {
  const [, setParameters] = useSearchParams()
  return useCallback(
    (slug: string) => {
      rememberProject(slug)
      setParameters({ project: slug })
    },
    [setParameters],
  )
}
